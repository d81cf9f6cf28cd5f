package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type extExportCmd struct {
	extRef
	File    string `arg:"" optional:"" default:"-" help:"Where to; - is standard output."`
	Session string `placeholder:"S" help:"The session that a name is looked up in."`
	Force   bool   `help:"Replace the file if it exists."`
}

// Run writes a package out.
func (c *extExportCmd) Run(ctx context.Context, a *app) error {
	if c.File == "-" {
		if a.outTTY {
			return &control.Error{Cause: "a CAR file is no text for a terminal", Remedy: "name a file, or pipe the output"}
		}
		_, err := c.fetch(ctx, a, a.out)
		return err
	}
	var r control.ExtExported
	err := writeWhole(c.File, c.Force, func(w io.Writer) (err error) {
		r, err = c.fetch(ctx, a, w)
		return err
	})
	if err != nil {
		return err
	}
	return a.show(r, func(p *page) {
		p.line(plain, "%s: %s, %s, %s", clean(c.File), clean(r.Root), plural(int64(r.Blocks), "block"), bytesWords(r.Bytes))
		p.line(dim, "On another machine: %s", commandLine("ext", "import", c.File))
	})
}

func (c *extExportCmd) fetch(ctx context.Context, a *app, w io.Writer) (r control.ExtExported, err error) {
	err = a.with(ctx, func(cl *control.Client) error {
		bar := a.progress("exporting")
		defer bar.end()
		r, err = control.CallStream(ctx, cl, control.ExtExport, control.ExtExportParams{Ref: c.Ref, Session: c.Session}, nil,
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

// writeWhole makes a file that appears whole or not at all.
func writeWhole(path string, force bool, fill func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return &control.Error{Cause: path + " exists already", Remedy: "choose another name, or --force"}
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".export-*")
	if err != nil {
		return fmt.Errorf("write export file: %w", err)
	}
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

type extImportCmd struct {
	File string `arg:"" help:"The CAR file; - is standard input."`
}

// Run takes a package in.
func (c *extImportCmd) Run(ctx context.Context, a *app) error {
	in, size, err := a.openInput(c.File)
	if err != nil {
		return err
	}
	defer in.Close()
	return a.with(ctx, func(cl *control.Client) error {
		bar := a.progress("importing")
		r, err := control.CallStream(ctx, cl, control.ExtImport, control.ExtImportParams{Size: size}, in, func(p control.Progress) error {
			bar.show(p)
			return nil
		})
		bar.end()
		if err != nil {
			return err
		}
		return a.show(r, func(p *page) {
			state, look := extState(r.State)
			p.line(bold, "%s", nameVersion(r.Name, r.Version))
			p.line(look, "  %s", state)
			p.fields([]field{{"reference", r.Ref}, {"size", bytesWords(r.Size) + " in " + plural(int64(r.Blocks), "block")}})
			p.line(dim, "Look at it with: %s", commandLine("ext", "show", r.Ref))
		})
	})
}
