package banktest

import (
	"context"
	"encoding/json"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Call is a call of an extension by an agent in a session, with the tools named.
func (p *Peer) Call(ext string, session crdt.DocID, agent extension.Agent, tools ...string) extension.Call {
	return extension.Call{Session: session, Agent: agent, Lent: extension.Lent{
		Settings: p.Settings(ext, session),
		Tools: func() []extension.ToolInfo {
			var out []extension.ToolInfo
			for _, name := range tools {
				out = append(out, extension.ToolInfo{Name: name})
			}
			return out
		},
	}}
}

// Settings are an extension's own in a session.
func (p *Peer) Settings(ext string, session crdt.DocID) extension.SettingsAccess {
	return settings{p.Document(session), ext + "/"}
}

type settings struct {
	doc    extension.Document
	prefix string
}

// Get implements [extension.SettingsAccess].
func (s settings) Get(ctx context.Context, key string) (out json.RawMessage, err error) {
	err = s.doc.View(ctx, func(v *crdt.View) error {
		if text, ok := v.Record(crdt.SettingsStore, s.prefix+key); ok && text != "null" {
			out = json.RawMessage(text)
		}
		return nil
	})
	return out, err
}

// Set implements [extension.SettingsAccess].
func (s settings) Set(ctx context.Context, key string, value any) error {
	return s.doc.Update(ctx, func(tx *crdt.Tx) error {
		if value == nil {
			return tx.Delete(crdt.SettingsStore, s.prefix+key)
		}
		return tx.Set(crdt.SettingsStore, s.prefix+key, value)
	})
}
