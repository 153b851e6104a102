package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"memoryd"
)

// configFlags are the flags of commands that read the configuration.
type configFlags struct {
	sys    system
	config string
	set    map[string]*string // key of the configuration → value
}

func newConfigFlags(c *cobra.Command, sys system, keys map[string]string) *configFlags {
	f := &configFlags{sys: sys, set: map[string]*string{}}
	c.PersistentFlags().StringVar(&f.config, "config", "", "configuration file (MEMORYD_CONFIG, else ./memoryd.yaml where there is one)")
	for key, help := range keys {
		f.set[key] = c.PersistentFlags().String(key, "", help)
	}
	return f
}

func (f *configFlags) read() (config, error) {
	c, _, err := f.load()
	return c, err
}

// load is read that also answers where each value came from.
func (f *configFlags) load() (config, *reader, error) {
	set := map[string]string{}
	for key, value := range f.set {
		if *value != "" {
			set[key] = *value
		}
	}
	return loadConfig(f.config, set, f.sys.env, f.sys.environ...)
}

func serveCommand(sys system) *cobra.Command {
	c := &cobra.Command{Use: "serve", Short: "Start the server", Args: args(0, 0, "no words")}
	flags := newConfigFlags(c, sys, map[string]string{
		"listen": "address to listen on (127.0.0.1:7788)",
		"data":   "folder of the data (MEMORYD_DATA, else ~/.local/share/memoryd; for root /var/lib/memoryd)",
	})
	c.RunE = func(c *cobra.Command, _ []string) error { return serve(c.Context(), flags) }
	return c
}

// serve runs until ctx ends, and returns once every answer is out and the store is closed.
func serve(ctx context.Context, flags *configFlags) error {
	c, err := flags.read()
	if err != nil {
		return err
	}
	log := newLog(c, flags.sys.err)
	ln, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	loopback := isLoopback(ln.Addr())
	if err := checkDoor(ctx, c, loopback, ln.Addr().String()); err != nil {
		return err
	}
	a, err := build(ctx, c, loopback, log)
	if err != nil {
		return err
	}
	open, err := a.front.Load().access.Open(ctx)
	if memoryd.CodeOf(err) == memoryd.Invalid {
		err = errNoKey(c, ln.Addr().String())
	}
	if err != nil {
		return errors.Join(plainError(err), a.Close())
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	log.Info("listening", "address", ln.Addr().String(), "version", release, "key_needed", !open)
	banner(flags.sys.out, c, ln.Addr(), open)
	return errors.Join(a.run(ctx, ln, hup, flags), a.Close())
}

// run serves until ctx ends and then drains, and reads the agents again at each signal of hup. Nothing is served any
// more when it returns.
func (a *app) run(ctx context.Context, ln net.Listener, hup <-chan os.Signal, flags *configFlags) error {
	h := a.config.HTTP
	srv := &http.Server{
		Handler: a.Handler(), ReadTimeout: h.ReadTimeout, ReadHeaderTimeout: h.ReadTimeout,
		WriteTimeout: h.WriteTimeout, IdleTimeout: h.IdleTimeout,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	for {
		select {
		case err := <-failed:
			return fmt.Errorf("serve: %w", err)
		case <-hup:
			a.reload(flags)
		case <-ctx.Done():
			err := a.stop(srv)
			<-failed
			return err
		}
	}
}

func (a *app) stop(srv *http.Server) error {
	a.log.Info("stopping", "drain", a.config.HTTP.Drain)
	a.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), a.config.HTTP.Drain)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		return errors.Join(errors.New("serve: http.drain is over; requests that still ran were cut off"), srv.Close())
	}
	return nil
}

// reload takes over agents and policies of the configuration as it is now; it keeps the old ones when something is
// wrong.
func (a *app) reload(flags *configFlags) {
	c, err := flags.read()
	if err == nil {
		err = a.open(c.Agents)
	}
	if err != nil {
		a.log.Error("reload: the old agents and policies stay", "error", err)
		return
	}
	a.log.Info("reload: agents and policies are those of the file now", "agents", len(c.Agents.Named))
	old := a.config
	old.Agents, c.Agents = agentsConfig{}, agentsConfig{}
	if !reflect.DeepEqual(old, c) {
		a.log.Warn("reload: other keys have changed too; they count from the next start on")
	}
}

// listen takes the address, or says in the user's words why it cannot.
func listen(ctx context.Context, address string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen: %s is taken by another program (another memoryd?); choose one with --listen", address)
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return ln, nil
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func newLog(c config, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.level}
	if c.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// banner says where the server is, and gives three lines that work when pasted.
func banner(w io.Writer, c config, addr net.Addr, open bool) {
	base := "http://" + reachable(addr)
	where := base
	if base != "http://"+addr.String() {
		where = addr.String() + ", all addresses of this machine; from here it is " + base
	}
	fmt.Fprintf(w, "memoryd %s listens on %s\n", release, where)
	fmt.Fprintf(w, "data: %s\n", storeOptions(c, nil).Path)
	curl := "curl -sS -H 'Content-Type: application/json'"
	switch {
	case c.Auth.Mode == "off":
		fmt.Fprintf(w, "auth: off: everything on this machine is operator of tenant %s\n", c.Auth.DefaultTenant)
	case open:
		fmt.Fprintf(w, "auth: no key: everything on this machine is operator of tenant %s\n", c.Auth.DefaultTenant)
	default:
		fmt.Fprintf(w, "auth: a key is needed (the first, with the server off: %s);\nthe lines below take it from MEMORYD_KEY\n", firstKey(c))
		curl += ` -H "Authorization: Bearer $MEMORYD_KEY"`
	}
	fmt.Fprintln(w, "\nTry it:")
	fmt.Fprintf(w, "%s %s/v1/memories -d '{\"text\":\"Prefers short answers, with the result first.\",\"scope\":\"global\"}'\n", curl, base)
	fmt.Fprintf(w, "%s %s/v1/search -d '{\"query\":\"how long should answers be?\"}'\n", curl, base)
	fmt.Fprintf(w, "%s %s/v1/context -d '{\"query\":\"Explain what a mutex is.\"}'\n", curl, base)
}

// firstKey is the command that makes a key in the store itself.
func firstKey(c config) string {
	where := "--config FILE" // the folder alone does not lead to a store that has an address of its own
	if c.Store.DSN == "" {
		where = "--data " + shellWord(c.Data)
	}
	return "memoryd key create --kind operator " + where
}

// shellWord is the text as one word for a shell.
func shellWord(text string) string {
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@:,", r)
	}
	if !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// reachable is the address as this machine's programs can use it.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	return addr.String()
}
