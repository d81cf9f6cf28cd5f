package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Limits of one memory; the row as a whole has crdt.MaxValue bytes at most.
const (
	maxKey  = 512 // bytes
	maxTags = 64
	maxTag  = 256 // bytes
)

func (d desk) rememberTool() extension.Tool {
	return extension.Tool{
		Name:        "remember",
		Description: "Keep a memory under a key, for later conversations too. Of one key the newest memory counts.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"key": {"type": "string", "description": "What the memory is about, in a few words."},
				"value": {"type": "string", "description": "What to remember."},
				"tags": {"type": "array", "items": {"type": "string"}, "description": "Words to filter by."},
				"bank": {"type": "string", "description": "Name or id of a memory bank (see list_memory_banks); your own memory without it."}
			},
			"required": ["key", "value"],
			"additionalProperties": false
		}`),
		Run: extension.Typed(d.rememberCall),
	}
}

type rememberArgs struct {
	Key   string   `json:"key"`
	Value string   `json:"value"`
	Tags  []string `json:"tags"`
	Bank  string   `json:"bank"`
}

func (d desk) rememberCall(ctx context.Context, c extension.Call, a rememberArgs) (string, error) {
	sources, err := d.sources(ctx, c)
	if err != nil {
		return "", err
	}
	s, err := bank.Pick(sources, a.Bank)
	if err != nil {
		return "", err
	}
	if err := d.remember(ctx, s, c.Agent, a); err != nil {
		return "", err
	}
	return fmt.Sprintf("Remembered %s in %s: %s", bank.Line(a.Key, maxKey), where(s), oneLine(a.Value, 200)), nil
}

// where names a source in a sentence.
func where(s bank.Source) string {
	if s.Name == bank.Self {
		return "your own memory"
	}
	return "the memory bank " + bank.Name(s.Name)
}

// check refuses what would be no memory, or one that nobody could find or print.
func (a rememberArgs) check() error {
	bad := func(what string) error { return fmt.Errorf("remember: %s: %w", what, extension.ErrArgument) }
	switch {
	case strings.TrimSpace(a.Key) == "":
		return bad("the key is empty")
	case len(a.Key) > maxKey:
		return bad(fmt.Sprintf("the key is longer than %d bytes; put the text into the value", maxKey))
	case strings.TrimSpace(a.Value) == "":
		return bad("the value is empty")
	case len(a.Tags) > maxTags:
		return bad(fmt.Sprintf("more than %d tags", maxTags))
	}
	for _, t := range a.Tags {
		if len(t) > maxTag {
			return bad(fmt.Sprintf("a tag is longer than %d bytes", maxTag))
		}
	}
	return nil
}

// remember adds a memory that counts from now on, whatever stamps the key has seen.
func (d desk) remember(ctx context.Context, s bank.Source, who extension.Agent, a rememberArgs) error {
	if err := a.check(); err != nil {
		return err
	}
	if !s.Write {
		return d.readOnly(ctx, s, who)
	}
	doc, err := s.Open(ctx)
	if err != nil {
		return err
	}
	err = doc.Update(ctx, func(tx *crdt.Tx) error {
		at := tx.Now()
		if old, ok := d.corpus(tx.View).newest(a.Key); ok {
			at = crdt.After(tx.Now(), old.at, true)
			if old.at == math.MaxInt64 {
				// Nothing can be stamped later, so it would hide what is remembered for ever.
				if err := tx.DeleteRow(bank.Memory().Rows, old.id); err != nil {
					return err
				}
			}
		}
		if a.Tags == nil {
			a.Tags = []string{}
		}
		_, err := tx.AddRow(bank.Memory().Rows, row{Key: a.Key, Value: a.Value, At: &at, Tags: a.Tags})
		return err
	})
	if errors.Is(err, extension.ErrReadOnly) || errors.Is(err, crdt.ErrNoRight) {
		s.Write = false
		return d.readOnly(ctx, s, who)
	}
	return err
}

// readOnly says why an agent may not write to a bank, and whom to ask.
func (d desk) readOnly(ctx context.Context, s bank.Source, who extension.Agent) error {
	refuse := func(why string) error {
		return fmt.Errorf("remember in %s: %s: %w", where(s), why, extension.ErrReadOnly)
	}
	ask := "an admin of the bank"
	if s.Here {
		doc, err := s.Open(ctx)
		if err == nil {
			err = doc.View(ctx, func(v *crdt.View) error { ask = bank.Admins(v); return nil })
		}
		if err != nil {
			return err
		}
	}
	switch {
	case !s.Here:
		return refuse("it is not on this peer; import it with /memory import <ticket>")
	case s.Attached:
		return refuse(fmt.Sprintf("the session lends it for reading; ask %s for /memory grant %s %s write", ask, bank.Name(s.Name), bank.Name(who.Name)))
	case !s.Granted:
		return refuse(fmt.Sprintf("the grant is for reading; ask %s for /memory grant %s %s write", ask, bank.Name(s.Name), bank.Name(who.Name)))
	}
	return refuse("this peer may only read it; ask " + ask + " to give it the role write")
}
