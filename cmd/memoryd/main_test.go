package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if buildFolder != "" {
		os.RemoveAll(buildFolder)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var buildFolder string

// builtOnce is the real program, built when the first test asks for it.
var builtOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "memoryd-test-")
	if err != nil {
		return "", err
	}
	buildFolder = dir
	file := filepath.Join(dir, "memoryd")
	out, err := exec.Command("go", "build", "-o", file, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return file, nil
})

// command is the real program, in a folder of its own and with the given environment alone.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	file, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(file, args...)
	c.Dir = t.TempDir()
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.Dir, "TMPDIR=" + t.TempDir()}, env...)
	return c
}

// output collects what a program prints and lets a test wait for a part of it.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func newOutput() *output { return &output{grown: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.grown)
	o.grown = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// patience is how long a test waits for what should come at once.
const patience = 30 * time.Second

func (o *output) wait(t *testing.T, part string) {
	t.Helper()
	late := time.After(patience)
	for {
		o.mu.Lock()
		found, grown := strings.Contains(o.text.String(), part), o.grown
		o.mu.Unlock()
		if found {
			return
		}
		select {
		case <-grown:
		case <-late:
			t.Fatalf("%q does not come; so far:\n%s", part, o)
		}
	}
}

// daemon is a running server.
type daemon struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	out    *output
	log    *output
	exited chan error
}

// start runs "memoryd serve" on a free port, and waits for its last line.
func start(t *testing.T, data string, env []string, args ...string) *daemon {
	t.Helper()
	c := command(t, env, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, args...)...)
	d := &daemon{t: t, cmd: c, out: newOutput(), log: newOutput(), exited: make(chan error, 1)}
	c.Stdout, c.Stderr = d.out, d.log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { d.exited <- c.Wait() }()
	t.Cleanup(d.kill)
	d.ready()
	return d
}

func (d *daemon) ready() {
	d.t.Helper()
	up := make(chan struct{})
	go func() {
		defer close(up)
		d.out.wait(d.t, "/v1/context")
	}()
	select {
	case <-up:
	case err := <-d.exited:
		d.exited <- err
		d.t.Fatalf("the server ended: %v\n%s", err, d.log)
	}
	first, _, _ := strings.Cut(d.out.String(), "\n")
	d.url = first[strings.LastIndex(first, " ")+1:]
}

// wait answers how the program ended.
func (d *daemon) wait() error {
	d.t.Helper()
	select {
	case err := <-d.exited:
		d.exited <- err
		return err
	case <-time.After(patience):
		d.t.Fatalf("the server does not end\n%s", d.log)
		return nil
	}
}

func (d *daemon) signal(s os.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

func (d *daemon) kill() {
	if err := d.cmd.Process.Kill(); err == nil || errors.Is(err, os.ErrProcessDone) {
		<-d.exited
		d.exited <- nil
	}
}

// stop ends the server as an init system would, and demands that it ends well.
func (d *daemon) stop() {
	d.t.Helper()
	d.signal(syscall.SIGTERM)
	if err := d.wait(); err != nil {
		d.t.Fatalf("after SIGTERM: %v\n%s", err, d.log)
	}
}

// ask sends a request and answers status and body.
func (d *daemon) ask(method, path string, body any) (int, map[string]any) {
	d.t.Helper()
	status, answer, err := request(d.url, method, path, body)
	if err != nil {
		d.t.Fatal(err)
	}
	return status, answer
}

func request(base, method, path string, body any) (int, map[string]any, error) {
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		payload = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, base+path, payload)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(bufio.NewReader(resp.Body)).Decode(&answer); err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, answer, nil
}

// ran is how a command of this program, run in process, ended.
type ran struct {
	code     int
	out, err string
}

// cli runs a command in process, against the server when url is not "".
func cli(t *testing.T, url, stdin string, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	env := []string{"HOME", t.TempDir()}
	if url != "" {
		env = append(env, "MEMORYD_URL", url)
	}
	code := run(context.Background(), args, system{in: strings.NewReader(stdin), out: &out, err: &errs, env: environment(env...)})
	return ran{code, out.String(), errs.String()}
}

// good is cli for a command that must succeed; it answers what was printed.
func good(t *testing.T, url, stdin string, args ...string) string {
	t.Helper()
	r := cli(t, url, stdin, args...)
	if r.code != 0 {
		t.Fatalf("memoryd %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}
