package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/extension/activation"
)

// settings shows the overrides of an extension on this session.
func (r *Runner) settings(ctx context.Context, c Call, name string) Result {
	var reply Result
	err := r.viewSession(ctx, c.Session, func(s crdt.SessionView, log *activation.Log) error {
		if _, known := r.refFor(name, log); !known {
			reply = unknownExtension(name)
			return nil
		}
		out, err := settingsJSON(s.View, name)
		reply = Result{Text, out}
		return err
	})
	if err != nil {
		return errorf("read settings: %v", err)
	}
	return reply
}

func settingsJSON(v *crdt.View, name string) (string, error) {
	object := map[string]json.RawMessage{}
	for key, value := range v.Records(crdt.SettingsStore) {
		if owner, field, ok := strings.Cut(key, "/"); ok && owner == name && json.Valid([]byte(value)) {
			object[field] = json.RawMessage(value)
		}
	}
	compact, err := crdt.Canonical(object)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(compact), "", "  "); err != nil {
		return "", fmt.Errorf("print settings: %w", err)
	}
	return b.String(), nil
}

// set stores one setting; every other one stays.
func (r *Runner) set(ctx context.Context, c Call, name, key, text string) Result {
	value, err := parseValue(text)
	if err != nil {
		return errorf("set %s of %s: %v", clean(key, 64), clean(name, extension.MaxName), err)
	}
	if err := r.checkSetting(c.Session, name, key, []byte(value)); err != nil {
		return errorf("set %s of %s: %v", clean(key, 64), clean(name, extension.MaxName), err)
	}
	return r.changeSetting(ctx, c, name, key, func(tx *crdt.Tx, field string) (Result, error) {
		return textf("Set %s of %s to %s.", clean(key, 200), name, value), tx.Set(crdt.SettingsStore, field, json.RawMessage(value))
	})
}

// unset deletes one setting, so that the extension's own default shows again.
func (r *Runner) unset(ctx context.Context, c Call, name, key string) Result {
	return r.changeSetting(ctx, c, name, key, func(tx *crdt.Tx, field string) (Result, error) {
		if _, there := tx.Record(crdt.SettingsStore, field); !there {
			return textf("%s of %s was not set.", clean(key, 200), name), nil
		}
		return textf("Removed %s of %s.", clean(key, 200), name), tx.Delete(crdt.SettingsStore, field)
	})
}

func (r *Runner) changeSetting(ctx context.Context, c Call, name, key string, change func(tx *crdt.Tx, field string) (Result, error)) Result {
	var reply Result
	err := r.cfg.Documents.Update(ctx, c.Session, func(tx *crdt.Tx) error {
		log, err := sessionLog(tx.View)
		if err != nil {
			return err
		}
		if _, known := r.refFor(name, log); !known {
			reply = unknownExtension(name)
			return nil
		}
		reply, err = change(tx, name+"/"+key)
		return err
	})
	if err != nil {
		return errorf("change %s of %s: %v", clean(key, 64), clean(name, extension.MaxName), err)
	}
	return reply
}

// parseValue reads the value of a setting: JSON, in one pair of single quotes or none; what is no
// JSON is a string. It returns canonical JSON text.
func parseValue(text string) (string, error) {
	if len(text) >= 2 && text[0] == '\'' && text[len(text)-1] == '\'' {
		text = text[1 : len(text)-1]
	}
	if json.Valid([]byte(text)) {
		return crdt.Canonical(json.RawMessage(text))
	}
	return crdt.Canonical(text)
}
