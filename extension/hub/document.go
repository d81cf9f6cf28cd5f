package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// document is one document as instances get it, until the instance has ended.
type document struct {
	docs Documents
	id   crdt.DocID
	over *atomic.Bool
}

func (d document) ID() crdt.DocID { return d.id }

func (d document) View(ctx context.Context, fn func(*crdt.View) error) error {
	if d.over.Load() {
		return errEnded
	}
	return d.docs.View(ctx, d.id, fn)
}

func (d document) Update(ctx context.Context, fn func(*crdt.Tx) error) error {
	if d.over.Load() {
		return errEnded
	}
	return d.docs.Update(ctx, d.id, func(tx *crdt.Tx) error {
		if d.over.Load() { // it waited for the document, and that is nobody's time
			return errEnded
		}
		return fn(tx)
	})
}

// settings are an extension's own in one session: overrides in the document under the flat key
// "<extension>/<key>", over the defaults of its declaration.
type settings struct {
	docs    Documents
	session crdt.DocID
	ent     *entry
	over    *atomic.Bool // the turn or the instance that they were lent to has ended
}

// Get implements [extension.SettingsAccess]. What can't be read as JSON counts as not set.
func (s settings) Get(ctx context.Context, key string) (json.RawMessage, error) {
	if s.over.Load() {
		return nil, fmt.Errorf("read setting %.80q of %s: %w", key, s.ent.name(), errEnded)
	}
	var text string
	err := s.docs.View(ctx, s.session, func(v *crdt.View) error {
		text, _ = v.Record(crdt.SettingsStore, settingKey(s.ent, key))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read setting %.80q of %s: %w", key, s.ent.name(), err)
	}
	if text == "" || text == "null" || !json.Valid([]byte(text)) {
		text = string(s.ent.defaults[key])
	}
	if text == "" {
		return nil, nil
	}
	return json.RawMessage(text), nil
}

// Set implements [extension.SettingsAccess].
func (s settings) Set(ctx context.Context, key string, value any) error {
	if key == "" {
		return fmt.Errorf("set setting of %s: the key is empty", s.ent.name())
	}
	if s.over.Load() {
		return fmt.Errorf("set setting %.80q of %s: %w", key, s.ent.name(), errEnded)
	}
	err := s.docs.Update(ctx, s.session, func(tx *crdt.Tx) error {
		if value == nil {
			return tx.Delete(crdt.SettingsStore, settingKey(s.ent, key))
		}
		return tx.Set(crdt.SettingsStore, settingKey(s.ent, key), value)
	})
	if err != nil {
		return fmt.Errorf("set setting %.80q of %s: %w", key, s.ent.name(), err)
	}
	return nil
}

func settingKey(e *entry, key string) string { return e.name() + "/" + key }

// readAtBuild returns the values of the settings that an instance reads when it is built.
func readAtBuild(v *crdt.View, e *entry) []string {
	if len(e.decl.ReadAtBuild) == 0 {
		return nil
	}
	values := make([]string, len(e.decl.ReadAtBuild))
	for i, key := range e.decl.ReadAtBuild {
		values[i], _ = v.Record(crdt.SettingsStore, settingKey(e, key))
	}
	return values
}
