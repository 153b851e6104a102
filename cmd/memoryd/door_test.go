package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"
)

func TestOnLoopback(t *testing.T) {
	for listen, want := range map[string][2]bool{
		"127.0.0.1:7788": {true, true}, "127.9.9.9:0": {true, true}, "[::1]:7788": {true, true}, "localhost:7788": {true, true},
		"0.0.0.0:7788": {false, true}, ":7788": {false, true}, "[::]:7788": {false, true}, "192.0.2.1:7788": {false, true},
		"host.example:7788": {false, false}, "nowhere": {false, false},
	} {
		if yes, sure := onLoopback(listen); yes != want[0] || sure != want[1] {
			t.Errorf("%s: %v, sure %v", listen, yes, sure)
		}
	}
}

// What serve refuses to open to others, config check refuses too, and neither makes anything.
func TestCheckAndServeRefuseTheSame(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	both := func(what, text string) {
		t.Helper()
		write(t, file, "listen: 0.0.0.0:0\ndata: "+data+"\n"+text)
		for _, command := range [][]string{{"config", "check"}, {"serve"}} {
			r := cli(t, "", "", append(command, "--config", file)...)
			if r.code != exitError || r.out != "" || strings.Count(r.err, what) != 1 || strings.Contains(r.err, "invalid") {
				t.Errorf("%v: %+v", command, r)
			}
		}
	}
	both("auth.mode", "auth: {mode: off}\n")
	both("loopback", "auth: {mode: off}\n")
	both("memoryd key create", "")
	if _, err := os.Stat(data); err == nil {
		t.Error("the data folder was made")
	}
	good(t, "", "", "migrate", "up", "--data", data)
	both("holds no key", "")
	write(t, file, "listen: 0.0.0.0:0\ndata: "+data+"\nauth: {mode: keys}\n")
	has(t, good(t, "", "", "config", "check", "--config", file), "keys: always needed, and the store holds none; make one: memoryd key create")

	good(t, "", "", "key", "create", "--kind", "operator", "--data", data)
	has(t, good(t, "", "", "config", "check", "--config", file), "keys: always needed\n")
	write(t, file, "listen: 0.0.0.0:0\ndata: "+data+"\n")
	has(t, good(t, "", "", "config", "check", "--config", file), "keys: always needed\n")
	write(t, file, "listen: 127.0.0.1:0\ndata: "+data+"\nauth: {mode: off}\n")
	has(t, good(t, "", "", "config", "check", "--config", file), "everything on this machine is operator")
}

// A file under the store's name that holds no store is wrong: doctor must not call it one that waits for a start.
func TestDoctorFindsWhatIsNoStore(t *testing.T) {
	for what, make := range map[string]func(path string){
		"empty": func(path string) { write(t, path, "") },
		"foreign": func(path string) {
			db, err := driver.Open("file:" + path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec("CREATE TABLE other (x)"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		path := filepath.Join(t.TempDir(), "memoryd.db")
		make(path)
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		code, states, text := doctorSays(t, "http://127.0.0.1:1", "--data", filepath.Dir(path))
		if code != exitError || states["store"] != checkWrong || what == "empty" && !strings.Contains(text, "holds no store") {
			t.Errorf("%s: exit %d\n%s", what, code, text)
		}
	}
}

func TestDoctorFindsAConfigurationOthersCanChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	write(t, file, "log: {level: info}\n")
	for mode, want := range map[os.FileMode]string{0o644: checkOK, 0o664: checkWrong, 0o646: checkWrong} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, states, text := doctorSays(t, "http://127.0.0.1:1", "--config", file, "--data", t.TempDir()); states["config"] != want {
			t.Errorf("%s: %s\n%s", mode, states["config"], text)
		}
	}
}

// The commands that init names find the file that it wrote.
func TestInitNamesItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b.yaml")
	r := cli(t, "", "", "init", "--config", file, "--data", t.TempDir())
	if r.code != 0 || strings.Count(r.err, " --config '"+file+"'") != 3 {
		t.Errorf("%+v", r)
	}
}

func TestRestoreNamesADamagedBackup(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "b.db")
	good(t, "", "", "migrate", "up", "--data", data)
	good(t, "", "", "backup", file, "--data", data)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(raw); i += 64 {
		raw[i] ^= 0x5a
	}
	write(t, file, string(raw))
	r := cli(t, "", "", "restore", file, "--data", t.TempDir())
	if r.code == 0 || !strings.Contains(r.err, file) {
		t.Errorf("%+v", r)
	}
}

// A right that cannot be read is answered with all the words that there are.
func TestRightsAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memoryd.yaml")
	for _, right := range []string{"everywhere", "group:a*", "agent:"} {
		write(t, file, "agents: {named: {bot: {read: [global, \""+right+"\"]}}}\n")
		r := cli(t, "", "", "config", "check", "--config", file)
		if r.code != exitError {
			t.Errorf("%+v", r)
		}
		has(t, r.err, "agents.named.bot.read[1]", "global, dm, group:ID, group:*, agent:ID, agent:*, agent:self or none")
	}
}
