package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestDemo(t *testing.T) {
	temp := t.TempDir()
	c := command(t, []string{"TMPDIR=" + temp, "MEMORYD_URL=http://127.0.0.1:1", "MEMORYD_KEY=mrd_wrong"}, "demo")
	start := time.Now()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	told := string(out)
	for _, part := range []string{
		"travel has kept:", "office has kept:",
		`office searches "which dishes never to suggest" where it may: Allergic to peanuts`,
		`office searches "night train south" where it may: nothing`,
		`office searches "night train south" in agent:travel: refused`,
		"office wants to write global: refused",
	} {
		if !strings.Contains(told, part) {
			t.Errorf("the story lacks %q", part)
		}
	}
	_, context, _ := strings.Cut(told, "5. ")
	for _, part := range []string{"Allergic to peanuts", "caterer takes orders", "table for eight"} {
		if !strings.Contains(context, part) {
			t.Errorf("the context lacks %q", part)
		}
	}
	if strings.Contains(context, "night train") {
		t.Error("the context shows office what is travel's own")
	}
	if t.Failed() {
		t.Log(told)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("it leaves %v behind, %v", left, err)
	}
	if left, err := os.ReadDir(c.Dir); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v in the working folder, %v", left, err)
	}
}
