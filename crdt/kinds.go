package crdt

import (
	"encoding/json"
	"slices"
	"strings"
)

// AttachedAgent is one agent on a session's roster.
type AttachedAgent struct {
	ID         DocID
	Name       string
	HomePeer   string // text of the peer that runs it here; empty: every peer that can
	AttachedAt int64
}

// The record stores and fields that more than one package reads.
const (
	AgentsStore   = "agents"
	SettingsStore = "extension_settings"
	ConfigStore   = "config"
	MetaName      = "name"             // session
	MetaHost      = "host_agent_db_id" // session
	MetaDisplay   = "display_name"     // agent, banks
	MetaHome      = "home_pubkey"      // agent
)

// Text returns a field that holds a JSON string; empty where it is absent or something else.
func (v *View) Text(store, key string) string {
	raw, _ := v.Record(store, key)
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return ""
	}
	return s
}

// Name is the name the session was given for everybody; empty if none.
func (s SessionView) Name() string { return s.Text(MetaStore, MetaName) }

// Host is the agent that answers unless another is addressed; zero if none is set.
func (s SessionView) Host() DocID {
	id, _ := ParseDocID(s.Text(MetaStore, MetaHost))
	return id
}

// Agents lists the roster in the order of attaching. A record without a display name is what a
// detach that raced an edit left behind, and does not count.
func (s SessionView) Agents() []AttachedAgent {
	var out []AttachedAgent
	for key := range s.Records(AgentsStore) {
		text, field, ok := strings.Cut(key, "/")
		if !ok || field != "display_name" {
			continue
		}
		id, err := ParseDocID(text)
		if err != nil {
			continue
		}
		a := AttachedAgent{ID: id, Name: s.Text(AgentsStore, key), HomePeer: s.Text(AgentsStore, text+"/home_pubkey")}
		raw, _ := s.Record(AgentsStore, text+"/attached_at")
		_ = json.Unmarshal([]byte(raw), &a.AttachedAt)
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b AttachedAgent) int {
		if a.AttachedAt != b.AttachedAt {
			if a.AttachedAt < b.AttachedAt {
				return -1
			}
			return 1
		}
		return slices.Compare(a.ID[:], b.ID[:])
	})
	return out
}

// AttachAgent puts an agent on the roster. One that is there keeps its home peer and its place.
func AttachAgent(tx *Tx, a AttachedAgent) error {
	p := a.ID.String() + "/"
	if err := tx.Set(AgentsStore, p+"display_name", a.Name); err != nil {
		return err
	}
	if _, there := tx.Record(AgentsStore, p+"attached_at"); !there {
		if err := tx.Set(AgentsStore, p+"attached_at", attachStamp(tx, a)); err != nil {
			return err
		}
	}
	if _, there := tx.Record(AgentsStore, p+"home_pubkey"); there || a.HomePeer == "" {
		return nil
	}
	return tx.Set(AgentsStore, p+"home_pubkey", a.HomePeer)
}

// attachStamp comes after every agent that is there, whatever this peer's clock says, so that the
// first one attached stays the first.
func attachStamp(tx *Tx, a AttachedAgent) int64 {
	if a.AttachedAt != 0 {
		return a.AttachedAt
	}
	newest, any := int64(0), false
	for _, there := range (SessionView{tx.View}).Agents() {
		newest, any = max(newest, there.AttachedAt), true
	}
	return After(tx.Now(), newest, any)
}

// DetachAgent takes an agent off the roster.
func DetachAgent(tx *Tx, id DocID) error {
	for key := range tx.Records(AgentsStore) {
		if strings.HasPrefix(key, id.String()+"/") {
			if err := tx.Delete(AgentsStore, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// AgentView reads an agent document.
type AgentView struct{ *View }

// Name is the agent's display name.
func (a AgentView) Name() string { return a.Text(MetaStore, MetaDisplay) }

// HomePeer is the text of the peer that runs the agent unless a session says otherwise; may be empty.
func (a AgentView) HomePeer() string { return a.Text(MetaStore, MetaHome) }

// Config returns the JSON text of each configuration field that is set.
func (a AgentView) Config() map[string]string {
	out := map[string]string{}
	for k, v := range a.Records(ConfigStore) {
		out[k] = v
	}
	return out
}
