package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type sessionImportCmd struct {
	File    string `arg:"" help:"JSON lines or an Automerge document; - is standard input."`
	Session string `placeholder:"S" xor:"into" help:"Into this session (else a new one)."`
	Name    string `placeholder:"N" xor:"into" help:"The name of the new session."`
	Format  string `enum:"auto,jsonl,automerge" default:"auto" help:"jsonl or automerge (else by the name of the file)."`
}

// Run takes a file in.
func (c *sessionImportCmd) Run(ctx context.Context, a *app) error {
	in, size, err := a.openInput(c.File)
	if err != nil {
		return err
	}
	defer in.Close()
	q := control.SessionImportParams{Session: c.Session, Name: c.Name, Format: formatOf(c.Format, c.File), Size: size}
	return a.with(ctx, func(cl *control.Client) error {
		bar := a.progress("importing")
		r, err := control.CallStream(ctx, cl, control.SessionImport, q, in, func(p control.Progress) error {
			bar.show(p)
			return nil
		})
		bar.end()
		if err != nil {
			return err
		}
		return a.show(r, func(p *page) {
			p.line(plain, "%s", clean(r.ID))
			if a.errTTY {
				fmt.Fprintf(a.err, "%s imported\n", plural(r.Entries, "entry"))
			}
			if r.ContentsMissing > 0 {
				fmt.Fprintf(a.err, "warning: %s not here; a peer that has it can bring it\n", largeAre(r.ContentsMissing))
			}
		})
	})
}

// openInput opens the file, or standard input, and says how long it is (0: not known).
func (a *app) openInput(path string) (io.ReadCloser, int64, error) {
	if path == "-" {
		return io.NopCloser(a.in), 0, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read import file: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder", path)
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("read import file: %w", err), f.Close())
	}
	if !info.Mode().IsRegular() {
		return f, 0, nil
	}
	return f, info.Size(), nil
}

// formatOf is the format that was asked for, or the one that the name of the file suggests.
func formatOf(flag, path string) string {
	if flag != "auto" {
		return flag
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".automerge", ".am":
		return control.FormatAutomerge
	}
	return control.FormatJSONL
}

type sessionExportCmd struct {
	Session string `arg:"" help:"The session."`
	File    string `arg:"" optional:"" default:"-" help:"Where to; - is standard output."`
	Format  string `enum:"auto,jsonl,automerge" default:"auto" help:"jsonl or automerge (else by the name of the file)."`
	Force   bool   `help:"Replace the file if it exists."`

	AllowMissing bool `help:"Also when large content is not here: its lines hold the beginning and say so."`
}

// Run writes a session out.
func (c *sessionExportCmd) Run(ctx context.Context, a *app) error {
	format := formatOf(c.Format, c.File)
	if c.File == "-" {
		if format == control.FormatAutomerge && a.outTTY {
			return &control.Error{Cause: "an Automerge document is no text for a terminal", Remedy: "name a file, or pipe the output"}
		}
		r, err := c.fetch(ctx, a, format, a.out)
		if err == nil {
			c.warn(a, format, r)
		}
		return err
	}
	var r control.Exported
	err := writeWhole(c.File, c.Force, func(w io.Writer) (err error) {
		r, err = c.fetch(ctx, a, format, w)
		return err
	})
	if err != nil {
		return err
	}
	c.warn(a, format, r)
	return a.show(r, func(p *page) {
		p.line(plain, "%s: %s, %s", c.File, plural(r.Entries, "entry"), plural(r.Bytes, "byte"))
	})
}

// warn says what the file does not hold.
func (c *sessionExportCmd) warn(a *app, format string, r control.Exported) {
	switch {
	case r.ContentsMissing == 0:
	case format == control.FormatAutomerge:
		fmt.Fprintf(a.err, "warning: %s not in an Automerge file, only the beginning; --format jsonl has all of it\n", largeAre(r.ContentsMissing))
	default:
		fmt.Fprintf(a.err, "warning: %s not here; the file has only the beginning\n", largeAre(r.ContentsMissing))
	}
}

func (c *sessionExportCmd) fetch(ctx context.Context, a *app, format string, w io.Writer) (r control.Exported, err error) {
	err = a.with(ctx, func(cl *control.Client) error {
		bar := a.progress("exporting")
		defer bar.end()
		r, err = control.CallStream(ctx, cl, control.SessionExport, control.SessionExportParams{Session: c.Session, Format: format, AllowMissing: c.AllowMissing}, nil,
			func(part control.Chunk) error {
				bar.show(part.Progress)
				if _, err := w.Write(part.Data); err != nil {
					return fmt.Errorf("write export: %w", err)
				}
				return nil
			})
		return err
	})
	return r, err
}
