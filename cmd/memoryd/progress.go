package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// progress shows on a terminal how far a long command is, on one line of stderr that it takes away in the end. Where
// stderr is no terminal it says nothing.
type progress struct {
	w          io.Writer // nil: nobody looks
	what, unit string
	began      time.Time

	mu   sync.Mutex
	last time.Time
}

func newProgress(sys system, what, unit string) *progress {
	p := &progress{what: what, unit: unit, began: time.Now()}
	if term, _ := sys.env("TERM"); isTerminal(sys.err) && term != "dumb" {
		p.w = sys.err
	}
	return p
}

// isTerminal tells a terminal from other character devices well enough for a line of progress.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

const (
	progressEvery = 200 * time.Millisecond
	progressWidth = 24
	clearLine     = "\r\x1b[K"
)

// say shows that done of total is done; total 0 is unknown.
func (p *progress) say(done, total int64) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.last) < progressEvery && done < total {
		return
	}
	p.last = now
	took := now.Sub(p.began).Round(time.Second)
	if total <= 0 {
		fmt.Fprintf(p.w, "%s%s %d %s %v", clearLine, p.what, done, p.unit, took)
		return
	}
	share := min(float64(done)/float64(total), 1)
	full := int(share * progressWidth)
	fmt.Fprintf(p.w, "%s%s [%s%s] %3.0f %% %v", clearLine, p.what, strings.Repeat("=", full), strings.Repeat(" ", progressWidth-full), share*100, took)
}

func (p *progress) end() {
	if p.w != nil {
		fmt.Fprint(p.w, clearLine)
	}
}
