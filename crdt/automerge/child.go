package automerge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Child reads Automerge files of others in a process of its own, because the core may abort on
// them. The zero value is not usable. Safe for concurrent use; each call starts a process.
type Child struct {
	Path string   // an executable …
	Args []string // … that with these arguments does nothing but call [RunReader] on its standard input and output
}

// Values returns the string values of an Automerge file. A root value that is no map and a store's
// value that is no string are errors, so nothing is left out silently. It ends with ctx.
func (c Child) Values(ctx context.Context, file []byte) (Stores, error) {
	if len(file) > MaxFile {
		return nil, fmt.Errorf("read Automerge file: larger than %d bytes", MaxFile)
	}
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env = []string{} // nothing that the reader could leak
	cmd.Stdin = bytes.NewReader(file)
	stdout := &limitedBuffer{limit: maxAnswer, full: kill}
	stderr := &limitedBuffer{limit: 4 << 10, full: func() {}}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Run(); err != nil {
		switch {
		case stdout.over:
			return nil, fmt.Errorf("read Automerge file: more than %d bytes of values", MaxValues)
		case ctx.Err() != nil:
			return nil, fmt.Errorf("read Automerge file: %w", ctx.Err())
		}
		word, _, _ := strings.Cut(stderr.kept.String(), "\n")
		return nil, fmt.Errorf("read Automerge file: the reading process died (%w): %s", err, word)
	}
	var a answer
	if err := json.Unmarshal(stdout.kept.Bytes(), &a); err != nil {
		return nil, fmt.Errorf("read Automerge file: the reading process answered nonsense: %w", err)
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	if a.Stores == nil {
		a.Stores = Stores{}
	}
	return a.Stores, nil
}

// limitedBuffer keeps the first limit bytes written to it, swallows the rest, and calls full once
// when there is one. (It does not embed the buffer: that would also offer a ReadFrom without limit.)
type limitedBuffer struct {
	kept  bytes.Buffer
	limit int
	full  func()
	over  bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := b.limit - b.kept.Len()
	b.kept.Write(p[:min(room, len(p))])
	if len(p) > room && !b.over {
		b.over = true
		b.full()
	}
	return len(p), nil
}
