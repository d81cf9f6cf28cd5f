package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type extPublishCmd struct {
	What    string `arg:"" help:"A folder, a .wasm file, or the CID of a package that is here."`
	Doc     string `placeholder:"D" help:"The package document: its id or its name here (else a new one)."`
	Name    string `placeholder:"N" help:"What a new document is called here."`
	Version string `placeholder:"V" help:"The version (else the one in the manifest)."`
	Private bool   `help:"Only members may read a new document; else everybody who has its id may."`
}

// Run releases a package. The reference alone is on standard output, so that it can be piped.
func (c *extPublishCmd) Run(ctx context.Context, a *app) error {
	if c.Doc != "" && (c.Name != "" || c.Private) {
		return &exit{exitUsage, fmt.Errorf("--name and --private are for a new document, and --doc names one")}
	}
	q := control.ExtPublishParams{Doc: c.Doc, Name: c.Name, Version: c.Version, Private: c.Private}
	if _, err := os.Stat(c.What); err == nil || looksLikePath(c.What) {
		if q.Path, err = a.absPath(c.What); err != nil {
			return err
		}
	} else {
		q.CID = strings.TrimPrefix(c.What, "ipld:")
	}
	return a.with(ctx, func(cl *control.Client) error {
		r, err := control.Call(ctx, cl, control.ExtPublish, q)
		if err != nil {
			return err
		}
		if err := a.show(r, func(p *page) { p.line(plain, "%s", clean(r.Ref)) }); err != nil || !a.errTTY || a.json {
			return err
		}
		where := "the package document " + shortDoc(r.Doc)
		if r.Made {
			where = "a new package document, " + clean(r.Doc)
		}
		_, err = fmt.Fprintf(a.err, "%s is released in %s\n", nameVersion(r.Name, r.Version), where)
		return err
	})
}

type extYankCmd struct {
	Doc     string `arg:"" help:"The package document: its id or its name here."`
	Version string `arg:"" help:"The version."`
	Reason  string `placeholder:"TEXT" help:"Why, for those who look."`
}

// Run withdraws a release.
func (c *extYankCmd) Run(ctx context.Context, a *app) error {
	q := control.ExtYankParams{Doc: c.Doc, Version: c.Version, Reason: c.Reason}
	return ask(ctx, a, control.ExtYank, q, func(p *page, r control.ExtRelease) {
		p.line(plain, "%s is withdrawn: nobody gets it by its version any more.", clean(r.Version))
	})
}

type extReleasesCmd struct {
	Doc string `arg:"" help:"The package document: its id or its name here."`
}

// Run lists releases.
func (c *extReleasesCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.ExtReleases, control.ExtReleasesParams{Doc: c.Doc}, func(p *page, all control.List[control.ExtRelease]) {
		if len(all) == 0 {
			p.line(plain, "No releases. Make one with: chaz-peer ext publish DIR --doc %s", clean(shellWord(c.Doc)))
			return
		}
		var rows []row
		for _, x := range all {
			r := row{cells: []string{x.Version, x.CID, quarantine(orID(x.ByName, shortPeer(x.By))), a.when(x.At), yesNo(x.BytesHere), "good"}}
			if x.Yanked {
				r.style, r.cells[5] = dim, "withdrawn"
				if x.Reason != "" {
					r.below = []string{"because: " + quarantine(x.Reason)}
				}
			}
			rows = append(rows, r)
		}
		p.table("", []string{"VERSION", "CID", "BY", "WHEN", "HERE", "STATE"}, rows)
	})
}
