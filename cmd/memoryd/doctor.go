package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"memoryd"
	"memoryd/internal/sqlstore"
)

// The states of a check.
const (
	checkOK    = "ok"
	checkNote  = "note"
	checkWrong = "wrong"
)

// finding is what one check found.
type finding struct {
	Check  string `json:"check"`
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// doctor looks at everything that a server needs, with the server off or on; it mends nothing.
type doctor struct {
	client *client
	flags  *configFlags
	config config
	found  []finding
}

func doctorCommand(sys system) *cobra.Command {
	c := &cobra.Command{Use: "doctor", Short: "Look for what is wrong: configuration, data, disk, store, keys, clock, server", Args: args(0, 0, "no words")}
	flags := newConfigFlags(c, sys, map[string]string{"data": "folder of the data"})
	d := &doctor{client: clientFlags(c, sys), flags: flags}
	c.RunE = func(c *cobra.Command, _ []string) error { return d.run(c.Context()) }
	return c
}

func (d *doctor) say(check, state, format string, args ...any) {
	d.found = append(d.found, finding{check, state, fmt.Sprintf(format, args...)})
}

func (d *doctor) run(ctx context.Context) error {
	if d.checkConfig() {
		d.checkFolder()
		d.checkStore(ctx)
		d.checkServer(ctx)
	}
	wrong := 0
	for _, f := range d.found {
		if f.State == checkWrong {
			wrong++
		}
	}
	if err := d.print(d.client.sys.out); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("doctor: %d of %d checks found something wrong", wrong, len(d.found))
	}
	return nil
}

func (d *doctor) print(w io.Writer) error {
	if d.client.json {
		if err := json.NewEncoder(w).Encode(map[string]any{"items": d.found}); err != nil {
			return fmt.Errorf("output: %w", err)
		}
		return nil
	}
	for _, f := range d.found {
		fmt.Fprintf(w, "%-5s  %-9s  %s\n", f.State, f.Check, line(f.Detail))
	}
	return nil
}

func (d *doctor) checkConfig() bool {
	c, r, err := d.flags.load()
	if err != nil {
		for text := range strings.SplitSeq(err.Error(), "\n") {
			d.say("config", checkWrong, "%s", text)
		}
		return false
	}
	d.config = c
	if r.file == "" {
		d.say("config", checkOK, "no file; the defaults hold")
		return true
	}
	d.say("config", checkOK, "%s, %d agents", r.file, len(c.Agents.Named))
	if info, err := os.Stat(r.file); err == nil && changedByOthers(info) {
		d.say("config", checkWrong, "%s can be changed by other users of this machine (%s), and says who may do what; chmod 600 it", r.file, info.Mode().Perm())
	} else if err == nil && r.holdsSecrets(c) && openToOthers(info) {
		d.say("config", checkWrong, "%s holds a secret and is open to others (%s); chmod 600 it, or name the secret as ${VAR}", r.file, info.Mode().Perm())
	}
	return true
}

// holdsSecrets says whether the file itself holds one, not a variable that it names.
func (r *reader) holdsSecrets(c config) bool {
	for _, s := range settings(c) {
		if s.value == masked && r.vars[s.key] == "" && strings.HasPrefix(r.where[s.key], r.file+":") {
			return true
		}
	}
	return false
}

// Room on the disk: below the first the store will soon refuse to write, below the second one should look.
const (
	tooLittle = 64 << 20
	little    = 1 << 30
)

func (d *doctor) checkFolder() {
	dir := filepath.Dir(storeOptions(d.config, nil).Path)
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		d.say("data", checkNote, "%s is not there yet; the first start makes it", dir)
		d.checkRoom(existing(dir))
		return
	}
	if err != nil {
		d.say("data", checkWrong, "%s", plainCause(err))
		return
	}
	switch probe, err := os.CreateTemp(dir, ".doctor-*"); {
	case err != nil:
		d.say("data", checkWrong, "%s cannot be written to: %s", dir, plainCause(err))
	case openToOthers(info):
		d.say("data", checkNote, "%s is open to other users of this machine (%s); chmod 700 it", dir, info.Mode().Perm())
		discard(probe)
	default:
		d.say("data", checkOK, "%s, writable, closed to others", dir)
		discard(probe)
	}
	d.checkRoom(dir)
}

// openToOthers says whether other users of this machine may read it. Windows answers the same for every file.
func openToOthers(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// changedByOthers says whether other users of this machine may write to it.
func changedByOthers(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0
}

func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// existing is the nearest folder above that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func (d *doctor) checkRoom(dir string) {
	free, err := freeBytes(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		d.say("disk", checkWrong, "%s", plainCause(err))
	case free < tooLittle:
		d.say("disk", checkWrong, "%s free; writes will be refused soon", mib(free))
	case free < little:
		d.say("disk", checkNote, "%s free", mib(free))
	default:
		d.say("disk", checkOK, "%.1f GiB free", float64(free)/(1<<30))
	}
}

func (d *doctor) checkStore(ctx context.Context) {
	o := storeOptions(d.config, slog.New(slog.DiscardHandler))
	info, err := os.Stat(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		d.say("store", checkNote, "there is none at %s yet; the first start makes it", o.Path)
		d.checkKeys(nil)
		return
	}
	if err != nil {
		d.say("store", checkWrong, "%s", plainCause(err))
		return
	}
	if openToOthers(info) {
		d.say("store", checkWrong, "%s is open to other users of this machine (%s); chmod 600 it", o.Path, info.Mode().Perm())
	}
	current, latest, err := sqlstore.Status(ctx, o)
	switch {
	case err != nil:
		d.say("store", checkWrong, "%s", told(err))
		return
	case current == 0:
		d.say("store", checkWrong, "%s is there (%d bytes), but holds no store of this program; move it away, or restore a backup", o.Path, info.Size())
		return
	case current > latest:
		d.say("store", checkWrong, "schema %d is newer than this program, which knows %d", current, latest)
		return
	case current < latest && d.config.Store.Migrate == "manual":
		d.say("store", checkWrong, "schema %d of %d; run: memoryd migrate up", current, latest)
	case current < latest:
		d.say("store", checkNote, "schema %d of %d; the next start brings it up to date", current, latest)
	default:
		d.say("store", checkOK, "%s, schema %d, %s", o.Path, current, mib(info.Size()))
	}
	d.checkSound(ctx, o)
	if current == latest {
		d.peek(ctx, o)
	}
}

func (d *doctor) checkSound(ctx context.Context, o sqlstore.Options) {
	problems, err := sqlstore.Check(ctx, o)
	switch {
	case err != nil:
		d.say("integrity", checkWrong, "%s", told(err))
	case len(problems) > 0:
		d.say("integrity", checkWrong, "the database is damaged: %s; restore a backup", strings.Join(problems, "; "))
	default:
		d.say("integrity", checkOK, "the database is sound")
	}
}

func (d *doctor) peek(ctx context.Context, o sqlstore.Options) {
	var list []memoryd.Key
	newest := time.Time{}
	err := sqlstore.Peek(ctx, o, func(tx memoryd.Tx) error {
		tenants, err := tx.Tenants.List()
		if err != nil {
			return err
		}
		ids := map[string]bool{d.config.Auth.DefaultTenant: true}
		for _, t := range tenants {
			ids[t.ID] = true
		}
		for id := range ids {
			held, err := tx.Contents.Count(id)
			if err != nil {
				return err
			}
			if held.LastWrite.After(newest) {
				newest = held.LastWrite
			}
		}
		list, err = tx.Keys.List("")
		return err
	})
	if err != nil {
		d.say("store", checkWrong, "%s", told(err))
		return
	}
	d.checkKeys(list)
	if ahead := time.Until(newest); ahead > time.Minute {
		d.say("clock", checkWrong, "the newest entry lies %s in the future: this machine's clock is behind", ahead.Round(time.Second))
	} else {
		d.say("clock", checkOK, "%s, ahead of all entries", time.Now().Format(time.RFC3339))
	}
}

func (d *doctor) checkKeys(list []memoryd.Key) {
	count, operators := 0, 0
	now := time.Now()
	for _, k := range list {
		if k.Revoked != nil || k.Expires != nil && !k.Expires.After(now) {
			continue
		}
		count++
		if k.Kind == "operator" {
			operators++
		}
	}
	loopback, _ := onLoopback(d.config.Listen)
	const how = "memoryd key create --kind operator --data DIR"
	switch mode := d.config.Auth.Mode; {
	case mode == "off":
		d.say("keys", checkNote, "auth.mode is off: every program on this machine is operator")
	case count == 0 && (mode == "keys" || !loopback || len(list) > 0):
		d.say("keys", checkWrong, "none is valid, and one is needed: %s", how)
	case count == 0:
		d.say("keys", checkNote, "none: every program on this machine is operator")
	case operators == 0:
		d.say("keys", checkNote, "%d valid, none of them an operator's: %s", count, how)
	default:
		d.say("keys", checkOK, "%d valid, %d of them operators'", count, operators)
	}
}

// patientFor is how long a server may take to say that it is there.
const patientFor = 5 * time.Second

func (d *doctor) checkServer(ctx context.Context) {
	base := strings.TrimRight(d.client.setting(d.client.server, "MEMORYD_URL", "http://"+local(d.config.Listen)), "/")
	ctx, cancel := context.WithTimeout(ctx, patientFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		d.say("server", checkWrong, "--server takes a URL such as http://127.0.0.1:7788")
		return
	}
	resp, err := http.DefaultClient.Do(req)
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		d.say("server", checkNote, "none answers at %s", base)
		return
	case err != nil:
		d.say("server", checkWrong, "%s: %s", base, plainCause(err))
		return
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		d.say("server", checkWrong, "%s is not ready: %s", base, resp.Status)
		return
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil && time.Since(at).Abs() > time.Minute {
		d.say("clock", checkWrong, "this machine's and the server's differ by %s", time.Since(at).Abs().Round(time.Second))
	}
	d.askServer(ctx, base)
}

func (d *doctor) askServer(ctx context.Context, base string) {
	cl := *d.client
	cl.server = base
	answer, err := cl.call(ctx, http.MethodGet, "/v1/status", nil, nil)
	var out serverStatus
	var refusal *refused
	switch given := cl.setting(cl.key, "MEMORYD_KEY", ""); {
	case errors.As(err, &refusal) && refusal.status == http.StatusUnauthorized && given == "":
		d.say("server", checkOK, "%s is ready, and wants a key (--key or MEMORYD_KEY) to say more", base)
	case err != nil:
		d.say("server", checkWrong, "%s is ready, but: %s", base, told(err))
	case json.Unmarshal(answer, &out) != nil || out.Version == "":
		d.say("server", checkWrong, "what answers at %s is no memoryd", base)
	case out.Version != release:
		d.say("server", checkNote, "%s is ready; it is version %s, this program is %s", base, out.Version, release)
	default:
		d.say("server", checkOK, "%s is ready, version %s, up for %s", base, out.Version, time.Duration(out.UptimeS)*time.Second)
	}
}

// local is the address to listen on as this machine's programs can use it.
func local(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return listen
}

// told is an error in a user's words.
func told(err error) string { return plainError(err).Error() }

// plainCause is the innermost cause of an error of the system.
func plainCause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Path + ": " + path.Err.Error()
	}
	return err.Error()
}
