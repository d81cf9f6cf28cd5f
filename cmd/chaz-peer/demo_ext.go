package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/node"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// demoFiles holds the conversation and, after `make wasm`, the example extension.
//
//go:embed demo
var demoFiles embed.FS

// example is the example extension as `make wasm` left it; ok is false in a program that was built
// without it.
func example() (manifest, wasm []byte, ok bool) {
	manifest, err := demoFiles.ReadFile("demo/standup/manifest.json")
	if err != nil {
		return nil, nil, false
	}
	wasm, err = demoFiles.ReadFile("demo/standup/standup.wasm")
	return manifest, wasm, err == nil
}

// variant is the manifest with other fields, and with size and hash of the module filled in.
func variant(manifest, wasm []byte, fields map[string]any) ([]byte, error) {
	var m map[string]any
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, fmt.Errorf("read the example's manifest: %w", err)
	}
	sum := sha256.Sum256(wasm)
	m["wasm_size"], m["wasm_sha256"] = len(wasm), hex.EncodeToString(sum[:])
	for k, v := range fields {
		m[k] = v
	}
	return json.MarshalIndent(m, "", "  ")
}

// extScenes are the part of the demo about code by reference.
func (d *demo) extScenes() []demoScene {
	if _, _, ok := example(); !ok {
		return []demoScene{{"code by reference: left out", func(context.Context) (string, error) {
			return "this program was built without the example extension; `make demo` builds it first", nil
		}}}
	}
	return []demoScene{
		{"A switches on an extension by CID and one by git commit", d.addByReference},
		{"B shows them, runs nothing, and looks at what they may do", d.lookBeforeTrust},
		{"B trusts them and runs their tools, fetched from A by hash", d.trustAndCall},
		{"an update asks for more, so B runs it only after another look", d.updateNeedsReview},
		{"D, who never had a network, gets it as a file", d.offlinePeer},
	}
}

// byGit is the name of the extension that comes by commit.
const byGit = "rollcall"

func (d *demo) addByReference(ctx context.Context) (string, error) {
	manifest, wasm, _ := example()
	dir, err := d.packageFolder("standup", manifest, wasm, nil)
	if err != nil {
		return "", err
	}
	out, err := d.A.slash(ctx, d.session, "", "/extensions add "+dir)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(out, "\n")
	d.say("    %s", cleanText(first))
	other, err := variant(manifest, wasm, map[string]any{
		"name": byGit, "wasm": "rollcall.wasm", "commands": []any{map[string]any{"name": byGit, "help": "/rollcall: who wrote how much"}},
	})
	if err != nil {
		return "", err
	}
	sha, err := node.CommitFiles(d.home("repo.git"), map[string][]byte{"chaz-extension.json": other, "rollcall.wasm": wasm})
	if err != nil {
		return "", err
	}
	if _, err := d.A.slash(ctx, d.session, "", "/extensions add git:"+d.home("repo.git")+"@"+sha); err != nil {
		return "", err
	}
	if err := d.trust(ctx, d.A, "standup"); err != nil {
		return "", err
	}
	text, err := d.A.callTool(ctx, d.session, "standup__digest", `{"who":"HAMLET"}`)
	return fmt.Sprintf("on A: %s", text), err
}

// packageFolder writes a package as its author has it.
func (d *demo) packageFolder(name string, manifest, wasm []byte, fields map[string]any) (string, error) {
	dir := d.home(name)
	text, err := variant(manifest, wasm, fields)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "manifest.json"), text, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "standup.wasm"), wasm, 0o600)
	}
	return dir, err
}

func (d *demo) lookBeforeTrust(ctx context.Context) (string, error) {
	if _, err := d.agree(ctx, d.A, d.B); err != nil {
		return "", err
	}
	for _, name := range []string{"standup", byGit} {
		if state, err := d.extState(ctx, d.B, name); err != nil || state != "pending" {
			return "", errors.Join(err, fmt.Errorf("%s is %s on B before anybody there decided", name, state))
		}
	}
	if text, err := d.B.callTool(ctx, d.session, "standup__digest", `{}`); err == nil {
		return "", fmt.Errorf("code that nobody on B trusts ran there: %s", text)
	}
	card, err := d.look(ctx, d.B, "standup")
	if err != nil {
		return "", err
	}
	for _, p := range card.Asks {
		d.say("    %s", cleanText(p.Words))
	}
	return fmt.Sprintf("%d powers are asked for, sha256 %.16s…", len(card.Asks), card.WASMSHA256), nil
}

func (d *demo) trustAndCall(ctx context.Context) (string, error) {
	for _, name := range []string{"standup", byGit} {
		if err := d.trust(ctx, d.B, name); err != nil {
			return "", err
		}
	}
	var said []string
	for _, name := range []string{"standup", byGit} {
		text, err := d.B.callTool(ctx, d.session, name+"__digest", `{"who":"HAMLET"}`)
		if err != nil {
			return "", err
		}
		said = append(said, text)
	}
	return fmt.Sprintf("on B, by CID: %s  By commit: %s", said[0], said[1]), nil
}

func (d *demo) updateNeedsReview(ctx context.Context) (string, error) {
	manifest, wasm, _ := example()
	dir, err := d.packageFolder("standup-2", manifest, wasm, map[string]any{
		"version": "2.0.0", "capabilities": map[string]any{"session_read": 200, "settings": "read", "session_write": true, "hooks": map[string]any{"tool_call": "modify"}},
	})
	if err != nil {
		return "", err
	}
	if _, err := d.A.slash(ctx, d.session, "", "/extensions add "+dir); err != nil {
		return "", err
	}
	if _, err := d.agree(ctx, d.A, d.B); err != nil {
		return "", err
	}
	card, err := d.look(ctx, d.B, "standup")
	switch {
	case err != nil:
		return "", err
	case card.State != "needs_review" || card.Diff == nil:
		return "", fmt.Errorf("the update is %s on B", card.State)
	}
	if text, err := d.B.callTool(ctx, d.session, "standup__digest", `{}`); err == nil {
		return "", fmt.Errorf("the update ran on B before anybody there looked: %s", text)
	}
	for _, x := range card.Diff.Added {
		if !strings.HasPrefix(x, "Module ") {
			d.say("    new: %s", cleanText(x))
		}
	}
	if err := d.trust(ctx, d.B, "standup"); err != nil {
		return "", err
	}
	text, err := d.B.callTool(ctx, d.session, "standup__digest", `{"who":"HAMLET"}`)
	return "version 2.0.0 on B: " + text, err
}

// offlinePeer runs the extension on a peer that was never connected to anybody.
func (d *demo) offlinePeer(ctx context.Context) (string, error) {
	card, err := d.look(ctx, d.A, "standup")
	if err != nil {
		return "", err
	}
	var car bytes.Buffer
	done, err := control.CallStream(ctx, d.A.client, control.ExtExport, control.ExtExportParams{Ref: card.RefText}, nil, func(c control.Chunk) error {
		_, err := car.Write(c.Data)
		return err
	})
	if err != nil {
		return "", err
	}
	if d.D, err = d.startPeer(ctx, "D", "0s"); err != nil {
		return "", err
	}
	in, err := control.CallStream(ctx, d.D.client, control.ExtImport, control.ExtImportParams{Size: int64(car.Len())}, io.Reader(&car), func(control.Progress) error { return nil })
	if err != nil {
		return "", err
	}
	made, err := control.Call(ctx, d.D.client, control.SessionNew, control.SessionNewParams{Name: "alone"})
	if err != nil {
		return "", err
	}
	if _, err := d.D.slash(ctx, made.ID, "", "/extensions add "+in.Ref); err != nil {
		return "", err
	}
	mine := d.session
	d.session = made.ID
	err = d.trust(ctx, d.D, "standup")
	d.session = mine
	if err != nil {
		return "", err
	}
	text, err := d.D.callTool(ctx, made.ID, "standup__digest", `{}`)
	return fmt.Sprintf("a file of %d blocks; on D: %s", done.Blocks, text), err
}

// look is what a person does before a decision.
func (d *demo) look(ctx context.Context, p *demoPeer, name string) (control.ExtCard, error) {
	return control.CallStream(ctx, p.client, control.ExtShow, control.ExtShowParams{Ref: name, Session: d.session}, nil, func(control.Progress) error { return nil })
}

// trust lets the content that was looked at run in the session, with the powers that it asks for.
func (d *demo) trust(ctx context.Context, p *demoPeer, name string) error {
	card, err := d.look(ctx, p, name)
	if err != nil {
		return err
	}
	r, err := control.CallStream(ctx, p.client, control.ExtTrust, control.ExtTrustParams{
		Ref: name, Session: d.session, AllRequested: true, SHA256: card.Key,
	}, nil, func(control.Progress) error { return nil })
	if err == nil && r.State != "trusted" {
		err = fmt.Errorf("%s is %s on %s: %s", name, r.State, p.name, r.Reason)
	}
	return err
}

func (d *demo) extState(ctx context.Context, p *demoPeer, name string) (string, error) {
	s, err := p.show(ctx, d.session, "")
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(s.Extensions, func(e control.ExtensionState) bool { return e.Name == name })
	if i < 0 {
		return "", fmt.Errorf("%s does not show %s", p.name, name)
	}
	return s.Extensions[i].State, nil
}

// callTool calls a tool as the shell would and returns its text.
func (p *demoPeer) callTool(ctx context.Context, session, tool, args string) (string, error) {
	r, err := control.Call(ctx, p.client, control.ToolCall, control.ToolCallParams{Session: session, Tool: tool, Args: json.RawMessage(args), Approve: true})
	if err == nil && r.Status != "ok" {
		err = errors.New(r.Output)
	}
	if err != nil {
		return "", fmt.Errorf("%s on %s: %w", tool, p.name, err)
	}
	return r.Output, nil
}

// extraConfig lets A, and nobody else, read the demo's repository from disk.
func (d *demo) extraConfig(name string) string {
	if name != "A" {
		return ""
	}
	return "extensions:\n  git_local: [" + d.dir + "]\n"
}
