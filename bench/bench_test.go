package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// server starts the real program on a free port: bench knows it over HTTP only.
func server(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "memoryd")
	if out, err := exec.Command("go", "build", "-o", file, "memoryd/cmd/memoryd").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	c := exec.Command(file, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"))
	c.Dir, c.Env = dir, []string{"HOME=" + dir}
	var log bytes.Buffer
	c.Stderr = &log
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		io.Copy(io.Discard, out)
		c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	return strings.TrimSpace(line[strings.LastIndex(strings.TrimSpace(line), " ")+1:])
}

func TestEval(t *testing.T) {
	url := server(t)
	for _, file := range []string{"first.jsonl", "second.jsonl"} {
		file = filepath.Join(t.TempDir(), file)
		var progress bytes.Buffer
		err := run(context.Background(), []string{"eval", "--server", url, "--set", "testdata/tiny", "--out", file}, io.Discard, &progress)
		if err != nil {
			t.Fatal(err)
		}
		if want := "loaded 5 messages and 3 memories (1 duplicates, 0 quarantined)"; !strings.Contains(progress.String(), want) {
			t.Errorf("%q is missing in: %s", want, &progress)
		}
		checkRun(t, file)
	}
}

func checkRun(t *testing.T, file string) {
	t.Helper()
	answers, err := read[answer](file)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		id   string
		ids  []string
		text string
	}{
		{"garden/0", []string{"g1"}, "The tomato seedlings go out after the last frost."},
		{"garden/1", []string{"g2"}, "I built a raised bed, look. [image: a wooden box filled with soil beside a red barrel]"},
		{"chat/0", []string{"c1a"}, "记得带够水和防晒霜。"},
		{"depot/0", []string{"d1", "d3"}, "Gate three opens at seven."},
	}
	if len(answers) != len(want) {
		t.Fatalf("%d answers, want %d", len(answers), len(want))
	}
	for i, w := range want {
		a := answers[i]
		if a.ID != w.id || a.MS <= 0 || len(a.Results) == 0 {
			t.Errorf("answer %d: %+v", i, a)
			continue
		}
		if r := a.Results[0]; !slices.Equal(r.IDs, w.ids) || r.Text != w.text {
			t.Errorf("%s: first result %+v, want %v %q", w.id, r, w.ids, w.text)
		}
		seen := map[string]bool{}
		for _, r := range a.Results {
			for _, id := range r.IDs {
				if seen[id] {
					t.Errorf("%s: %s comes twice: an earlier run is mixed in", w.id, id)
				}
				seen[id] = true
			}
		}
	}
}

func TestLoad(t *testing.T) {
	var out bytes.Buffer
	err := run(context.Background(), []string{"load", "--server", server(t), "--clients", "2", "--seconds", "0.2"}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^durable adds: 2 clients [1-9]\d*/s \([1-9]\d* adds, p50 [\d.]+ ms, p99 [\d.]+ ms\); 1 client p50 [\d.]+ ms, p99 [\d.]+ ms \([1-9]\d* adds\); \w+/\w+, \d+ CPUs\n$`)
	if !line.Match(out.Bytes()) {
		t.Errorf("got %q", out.String())
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"nothing"}, {"eval"}, {"eval", "--set", "x"}, {"load", "--clients", "0"}} {
		if err := run(context.Background(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "usage:") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := run(context.Background(), []string{"eval", "--set", t.TempDir(), "--out", "x"}, io.Discard, io.Discard); !os.IsNotExist(err) {
		t.Errorf("a set that is not there: %v", err)
	}
}

func TestMeasureAndAsk(t *testing.T) {
	url := server(t)
	var out bytes.Buffer
	if err := run(context.Background(), []string{"measure", "--server", url, "--clients", "2", "--seconds", "0.05"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 10 {
		t.Errorf("want a head and eight rows, got:\n%s", out.String())
	}
	if err := run(context.Background(), []string{"ask", "--server", url, "--user", "nobody", "--queries", "3"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
}
