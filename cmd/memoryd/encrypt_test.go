package main

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing of what was stored can be read in an encrypted data folder or in a backup, and a wrong key is told clearly.
func TestEncryptedStore(t *testing.T) {
	const key, word = "a passphrase that nobody guesses", "Rumpelstilzchen"
	data := t.TempDir()
	env := []string{"MEMORYD_STORE_ENCRYPTION_KEY=" + key}
	d := start(t, data, env)
	status, answer := d.ask("POST", "/v1/memories", map[string]any{"user": word, "scope": "global", "text": "my name is " + word})
	if status != http.StatusCreated {
		t.Fatal(status, answer)
	}
	list := []any{map[string]any{"role": "user", "content": "call me " + word}}
	if status, answer := d.ask("POST", "/v1/sessions/chat/messages", map[string]any{"user": word, "messages": list}); status != http.StatusCreated {
		t.Fatal(status, answer)
	}
	backup := command(t, env, "backup", filepath.Join(data, "backup"), "--data", data)
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	d.kill()
	err := filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(word)) || bytes.Contains(text, []byte("SQLite")) || bytes.Contains(text, []byte(key)) {
			t.Errorf("%s can be read", e.Name())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"a passphrase that somebody guessed", ""} {
		c := command(t, []string{"MEMORYD_STORE_ENCRYPTION_KEY=" + wrong}, "serve", "--listen", "127.0.0.1:0", "--data", data)
		out, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "encryption_key") || wrong != "" && strings.Contains(string(out), wrong) {
			t.Errorf("with another key: %v %s", err, out)
		}
	}
	d = start(t, data, env)
	status, answer = d.ask("GET", "/v1/memories?user="+word, nil)
	if items, _ := answer["items"].([]any); status != http.StatusOK || len(items) != 1 {
		t.Errorf("with the right key: %d %v", status, answer)
	}
	if strings.Contains(d.log.String()+d.out.String(), key) {
		t.Error("the log shows the key")
	}
	d.stop()
}
