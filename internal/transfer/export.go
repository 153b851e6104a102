package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"memoryd"
	"memoryd/internal/access"
)

// ExportOptions says what to export.
type ExportOptions struct {
	Store    memoryd.Store
	Schema   int64
	Tenant   string // "": all
	User     string // with a tenant: that user's own rows alone, neither groups nor agents
	Progress Progress
}

// page is how many rows are read at once: they are held in memory.
const page = 100

// Export writes all rows that are asked for, as they stand on one snapshot. Equal rows make equal bytes. What it wrote
// before an error has no manifest, so that no import takes it.
func Export(ctx context.Context, g access.Grant, o ExportOptions, w io.Writer) (Manifest, error) {
	if err := operatorOnly(g); err != nil {
		return Manifest{}, err
	}
	if o.User != "" && o.Tenant == "" {
		return Manifest{}, memoryd.BadField("user", "is one of a tenant; name the tenant too")
	}
	e := &exporter{o: o, w: w, sum: sha256.New()}
	err := e.put(header{Row: rowExport, Format: Format})
	if err == nil {
		err = o.Store.Read(ctx, func(tx memoryd.Tx) error { return e.all(ctx, tx) })
	}
	m := Manifest{Row: rowManifest, Format: Format, Schema: o.Schema, Counts: e.counts, SHA256: hex.EncodeToString(e.sum.Sum(nil))}
	if err == nil {
		err = e.put(m)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("export: %w", err)
	}
	return m, nil
}

type exporter struct {
	o      ExportOptions
	w      io.Writer
	sum    hash.Hash
	counts Counts
}

func (e *exporter) put(v any) error {
	line, err := encode(v)
	if err != nil {
		return err
	}
	e.sum.Write(line)
	e.counts.add(v)
	if n := e.counts.Rows(); n%1000 == 0 {
		e.o.Progress.say(n, 0)
	}
	_, err = e.w.Write(line)
	return err
}

func (e *exporter) all(ctx context.Context, tx memoryd.Tx) error {
	list, err := tx.Dump.Tenants()
	if err != nil {
		return err
	}
	if e.o.Tenant != "" {
		if !slices.Contains(list, e.o.Tenant) {
			return memoryd.Errorf(memoryd.NotFound, "not-found", "there is no tenant %q", e.o.Tenant)
		}
		list = []string{e.o.Tenant}
	}
	for _, tenant := range list {
		if err := e.tenant(tx, tenant); err != nil {
			return err
		}
		o := memoryd.Owner{Tenant: tenant, User: e.o.User}
		if err := e.sessions(ctx, tx, o); err != nil {
			return err
		}
		if err := e.memories(ctx, tx, o); err != nil {
			return err
		}
	}
	return nil
}

// tenant writes the tenant itself, where it has a row, and its agents.
func (e *exporter) tenant(tx memoryd.Tx, id string) error {
	t, err := tx.Tenants.Get(id)
	switch {
	case err == nil:
		err = e.put(&tenantRow{Row: rowTenant, ID: t.ID, Name: t.Name, Created: stamp{t.Created}})
	case errors.Is(err, memoryd.ErrNotFound):
		err = nil // one that nobody made, such as the tenant of an open loopback, has rows but none of its own
	}
	if err != nil || e.o.User != "" {
		return err
	}
	agents, err := tx.Agents.List(id)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		if err := e.put(&agentRow{Row: rowAgent, Tenant: id, ID: name, Settings: agents[name]}); err != nil {
			return fmt.Errorf("agent %s: %w", name, err)
		}
	}
	return nil
}

func (e *exporter) sessions(ctx context.Context, tx memoryd.Tx, o memoryd.Owner) error {
	for after := ""; ; {
		list, err := tx.Dump.Sessions(o, after, page)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, s := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := e.session(tx, s); err != nil {
				return fmt.Errorf("session %s: %w", s.ID, err)
			}
		}
		after = list[len(list)-1].ID
	}
}

func (e *exporter) session(tx memoryd.Tx, s memoryd.Session) error {
	if err := e.put(rowOfSession(s)); err != nil {
		return err
	}
	for after := int64(0); after < s.LastSeq; {
		list, err := tx.Dump.Messages(s, after, page)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, m := range list {
			if err := e.text(m.Text, rowOfMessage(s, m)); err != nil {
				return fmt.Errorf("message %d: %w", m.Seq, err)
			}
		}
		after = list[len(list)-1].Seq
	}
	return nil
}

func (e *exporter) memories(ctx context.Context, tx memoryd.Tx, o memoryd.Owner) error {
	for after := ""; ; {
		list, err := tx.Dump.Memories(o, after, page)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, m := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := e.memory(tx, m); err != nil {
				return fmt.Errorf("memory %s: %w", m.ID, err)
			}
		}
		after = list[len(list)-1].ID
	}
}

func (e *exporter) memory(tx memoryd.Tx, m memoryd.Memory) error {
	if err := e.text(m.Text, rowOfMemory(m)); err != nil || m.Version == 1 {
		return err
	}
	list, err := tx.Versions.List(m.Tenant, m.ID)
	if err != nil {
		return err
	}
	for _, v := range list {
		if err := e.text(v.Text, rowOfVersion(v)); err != nil {
			return fmt.Errorf("version %d: %w", v.Version, err)
		}
	}
	return nil
}

// text writes a row unless its words are not UTF-8, which JSON would change without a word.
func (e *exporter) text(text string, v any) error {
	if !utf8.ValidString(text) {
		return errors.New("its text is not UTF-8")
	}
	return e.put(v)
}
