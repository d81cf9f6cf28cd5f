package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type extCmds struct {
	Show     extShowCmd     `cmd:"" help:"The card of an extension: what it may do, who made it, what has changed."`
	Pending  extPendingCmd  `cmd:"" help:"What others switched on and nobody here has decided about."`
	Trust    extTrustCmd    `cmd:"" help:"Let this exact content run, with the powers that you name."`
	Deny     extDenyCmd     `cmd:"" help:"Refuse it, and be asked no more."`
	Untrust  extUntrustCmd  `cmd:"" help:"Take a decision back; what runs is stopped at once."`
	List     extListCmd     `cmd:"" help:"What was decided or runs on this peer."`
	Pack     extPackCmd     `cmd:"" help:"Put a folder or a .wasm file into the block store, under its CID."`
	Publish  extPublishCmd  `cmd:"" help:"Release a package under a version, in a document that syncs."`
	Releases extReleasesCmd `cmd:"" help:"The releases of a package document."`
	Yank     extYankCmd     `cmd:"" help:"Withdraw a release."`
	Export   extExportCmd   `cmd:"" help:"Write a package to a CAR file."`
	Import   extImportCmd   `cmd:"" help:"Take a CAR file in; it still has to be trusted."`
	Audit    extAuditCmd    `cmd:"" help:"The journal: who was trusted, loaded, refused, and when."`
	Logs     extLogsCmd     `cmd:"" help:"What an extension has written."`
	GC       extGCCmd       `cmd:"" name:"gc" help:"Drop blocks that nothing here needs."`
}

// extRef is the argument that names an extension.
type extRef struct {
	Ref string `arg:"" help:"Its name in the session, a CID, git:REPO@SHA, registry:DOC@VERSION, or 8 digits of its sha256."`
}

type extShowCmd struct {
	extRef
	Session string `placeholder:"S" help:"The session that has it on: finds a name, and asks its peers for missing bytes."`
	Fetch   bool   `help:"Also contact hosts that are no peers of the session, such as a git server."`
}

// Run shows the card.
func (c *extShowCmd) Run(ctx context.Context, a *app) error {
	return a.with(ctx, func(cl *control.Client) error {
		card, err := a.card(ctx, cl, control.ExtShowParams{Ref: c.Ref, Session: c.Session, Outside: c.Fetch})
		if err != nil {
			return err
		}
		return a.show(card, func(p *page) {
			p.card(card)
			p.cardEnd(card, c.Ref, c.Session)
		})
	})
}

// card asks for a card; bytes that come from elsewhere show as a bar.
func (a *app) card(ctx context.Context, cl *control.Client, q control.ExtShowParams) (control.ExtCard, error) {
	bar := a.progress("fetching")
	defer bar.end()
	return control.CallStream(ctx, cl, control.ExtShow, q, nil, func(p control.Progress) error {
		bar.show(p)
		return nil
	})
}

type extPackCmd struct {
	Path    string `arg:"" help:"A folder with manifest.json, or a .wasm file."`
	Profile string `enum:"default,v1-2025,v0-2015" default:"default" help:"How files are cut into blocks: default, v1-2025 or v0-2015, to compare CIDs with other tools."`
}

// Run packs.
func (c *extPackCmd) Run(ctx context.Context, a *app) error {
	path, err := a.absPath(c.Path)
	if err != nil {
		return err
	}
	q := control.ExtPackParams{Path: path}
	if c.Profile != "default" {
		q.Profile = c.Profile
	}
	return ask(ctx, a, control.ExtPack, q, func(p *page, r control.ExtPacked) {
		manifest, _, _ := strings.Cut(r.Key, ".")
		p.line(bold, "%s", nameVersion(r.Name, r.Version))
		p.fields([]field{
			{"reference", r.Ref},
			{"package", r.Root},
			{"module", r.Module},
			{"wasm sha256", r.WASMSHA256},
			{"manifest", manifest},
			{"size", bytesWords(r.Size) + " in " + plural(int64(r.Blocks), "block")},
		})
		p.line(dim, "Switch it on with: chaz-peer cmd --session S '/extensions add %s'", clean(r.Ref))
	})
}

// absPath makes a path that a person typed absolute: the daemon works in another folder. A leading
// tilde is the home of this user, also where a shell has left it alone, as in ID=~/notes.
func (a *app) absPath(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') && a.env("HOME") != "" {
		path = a.env("HOME") + rest
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", clean(path), err)
	}
	return abs, nil
}

// looksLikePath says that an argument is meant as a file or folder, not as a name or a reference.
func looksLikePath(arg string) bool {
	for _, scheme := range []string{"ipld:", "git:", "registry:"} {
		if strings.HasPrefix(arg, scheme) {
			return false
		}
	}
	if arg != "" && strings.ContainsRune("./~", rune(arg[0])) || strings.HasSuffix(arg, ".wasm") {
		return true
	}
	if !strings.Contains(arg, "/") {
		return false
	}
	_, err := os.Stat(arg)
	return err == nil
}

// nameVersion is how an extension is called in a sentence.
func nameVersion(name, version string) string {
	return strings.TrimSpace(quarantine(orID(name, "(no name)")) + " " + quarantine(version))
}

// bytesWords is a size for a person, exact and rounded.
func bytesWords(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d bytes (%.1f MiB)", n, float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d bytes (%.1f KiB)", n, float64(n)/(1<<10))
	}
	return plural(n, "byte")
}
