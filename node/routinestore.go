package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/routine"
)

// routinesStore holds the routines of a session, one key a field.
const routinesStore = "routines"

// agentScheduler is the extension whose routine handler fires the schedules of agents.
const agentScheduler = "agent_schedule"

// routineStore keeps routines where their scope says: this peer's table, the session's document,
// the agent's document.
type routineStore struct {
	n     *Node
	table *crdt.Table[map[string]string]
}

// Scopes implements [routine.Source].
func (s routineStore) Scopes(ctx context.Context) ([]routine.Scope, error) {
	out := []routine.Scope{routine.Global()}
	for _, d := range s.n.repo.List() {
		switch d.Kind {
		case crdt.Session:
			if row, err := s.n.cataloged(ctx, d.ID); err != nil {
				return nil, err
			} else if !row.Closed {
				out = append(out, routine.Session(d.ID.String()))
			}
		case crdt.Agent:
			access, err := s.n.repo.Access(ctx, d.ID)
			if err != nil {
				return nil, err
			}
			if s.n.roleIn(access) >= crdt.Write {
				out = append(out, routine.Agent(d.ID.String()))
			}
		}
	}
	return out, nil
}

// Rows implements [routine.Source]. Whether this peer fires for the scope is asked here, where the
// engine lets no other reading of it come between.
func (s routineStore) Rows(ctx context.Context, scope routine.Scope) ([]routine.Routine, error) {
	fires, err := s.n.firesFor(ctx, scope)
	var rows map[string]map[string]string
	if err == nil && fires {
		rows, err = s.read(ctx, scope)
	}
	if errors.Is(err, crdt.ErrUnknownDoc) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []routine.Routine
	for id, fields := range rows {
		if r, ok := decodeRoutine(scope, id, fields); ok {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b routine.Routine) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// Row implements [routine.Source].
func (s routineStore) Row(ctx context.Context, key routine.Key) (routine.Routine, bool, error) {
	rows, err := s.read(ctx, key.Scope)
	if errors.Is(err, crdt.ErrUnknownDoc) {
		return routine.Routine{}, false, nil
	}
	if err != nil {
		return routine.Routine{}, false, err
	}
	r, ok := decodeRoutine(key.Scope, key.ID, rows[key.ID])
	return r, ok, nil
}

// read returns the fields of every row of a scope.
func (s routineStore) read(ctx context.Context, scope routine.Scope) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	if scope.Kind == routine.ScopeGlobal {
		err := s.table.All(ctx, func(id string, fields map[string]string) error { out[id] = fields; return nil })
		return out, err
	}
	id, store, err := scopeDoc(scope)
	if err != nil {
		return nil, err
	}
	err = s.n.repo.Peek(ctx, id, func(v *crdt.View) error {
		for rid, fields := range readRecords(v, store, routine.FieldTrigger) {
			out[rid] = map[string]string{}
			for k, raw := range fields {
				out[rid][k] = string(raw)
			}
		}
		return nil
	})
	return out, err
}

func scopeDoc(scope routine.Scope) (crdt.DocID, string, error) {
	id, err := crdt.ParseDocID(scope.ID)
	if scope.Kind == routine.ScopeAgent {
		return id, schedulesStore, err
	}
	return id, routinesStore, err
}

// schedulePayload is what the handler of agents' schedules gets.
type schedulePayload struct {
	Agent    string          `json:"owner_agent_db_id"`
	Schedule string          `json:"schedule_id"`
	Prompt   json.RawMessage `json:"prompt"`
	Target   json.RawMessage `json:"target"`
	OneShot  bool            `json:"one_shot"`
}

// decodeRoutine reads a row. An agent's schedule says where its turn is to run; as a routine it
// targets the handler of schedules.
func decodeRoutine(scope routine.Scope, id string, fields map[string]string) (routine.Routine, bool) {
	if scope.Kind != routine.ScopeAgent {
		return routine.Decode(id, fields)
	}
	if fields[routine.FieldTrigger] == "" {
		return routine.Routine{}, false
	}
	p := schedulePayload{Agent: scope.ID, Schedule: id, Prompt: rawOr(fields["prompt"]), Target: rawOr(fields[routine.FieldTarget])}
	if bare, ok := routine.Decode(id, map[string]string{routine.FieldTrigger: fields[routine.FieldTrigger]}); ok {
		p.OneShot = bare.Trigger.Kind() == routine.KindOneShot
	}
	payload, err := json.Marshal(p)
	if err != nil {
		return routine.Routine{ID: id, Fault: "prompt or target is no JSON"}, true
	}
	target, err := json.Marshal(routine.Target{Extension: agentScheduler, Payload: payload})
	if err != nil {
		return routine.Routine{ID: id, Fault: err.Error()}, true
	}
	as := map[string]string{}
	for k, v := range fields {
		as[k] = v
	}
	as[routine.FieldTarget] = string(target)
	return routine.Decode(id, as)
}

func rawOr(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

// Put implements [routine.Sink]: a session's routine is fired by the peer that made it.
func (s routineStore) Put(ctx context.Context, scope routine.Scope, r routine.Routine) error {
	if r.Created.IsZero() {
		r.Created = time.UnixMilli(crdt.NowMillis(s.n.clock)).UTC()
	}
	if scope.Kind == routine.ScopeGlobal {
		return s.table.Put(ctx, r.ID, r.Fields())
	}
	r.Home = s.n.Self().String()
	id, store, err := scopeDoc(scope)
	if err != nil {
		return err
	}
	return s.n.repo.Update(ctx, id, func(tx *crdt.Tx) error { return setFields(tx, store, r.ID, r.Fields()) })
}

func setFields(tx *crdt.Tx, store, id string, fields map[string]string) error {
	for k, text := range fields {
		var err error
		if text == "" {
			err = tx.Delete(store, id+"/"+k)
		} else {
			err = tx.Set(store, id+"/"+k, json.RawMessage(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Update implements [routine.Sink].
func (s routineStore) Update(ctx context.Context, key routine.Key, o routine.Outcome) error {
	if o.Delete {
		return s.Delete(ctx, key)
	}
	if key.Scope.Kind == routine.ScopeGlobal {
		fields, err := s.table.Get(ctx, key.ID)
		if errors.Is(err, crdt.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		for k, text := range o.Fields() {
			if fields[k] = text; text == "" {
				delete(fields, k)
			}
		}
		return s.table.Put(ctx, key.ID, fields)
	}
	id, store, err := scopeDoc(key.Scope)
	if err != nil {
		return err
	}
	return s.n.repo.Update(ctx, id, func(tx *crdt.Tx) error {
		if _, there := tx.Record(store, key.ID+"/"+routine.FieldTrigger); !there {
			return nil
		}
		return setFields(tx, store, key.ID, o.Fields())
	})
}

// Delete implements [routine.Sink].
func (s routineStore) Delete(ctx context.Context, key routine.Key) error {
	if key.Scope.Kind == routine.ScopeGlobal {
		return s.table.Delete(ctx, key.ID)
	}
	id, store, err := scopeDoc(key.Scope)
	if err != nil {
		return err
	}
	err = s.n.repo.Update(ctx, id, func(tx *crdt.Tx) error {
		for k := range tx.Records(store) {
			if i := strings.LastIndexByte(k, '/'); i >= 0 && k[:i] == key.ID {
				if err := tx.Delete(store, k); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if errors.Is(err, crdt.ErrUnknownDoc) {
		return nil
	}
	return err
}

// homes says whether this peer fires a routine.
type homes struct{ n *Node }

// IsHome implements [routine.Homes]: the peer's own routines always; a session's or an agent's
// where its home is this peer. With no home recorded, or one that can't be read, every peer that
// holds the document fires it.
func (h homes) IsHome(ctx context.Context, key routine.Key, r routine.Routine) bool {
	switch key.Scope.Kind {
	case routine.ScopeGlobal:
		return true
	case routine.ScopeSession:
		return h.mine(r.Home) && h.own(ctx, key)
	}
	agent, err := crdt.ParseDocID(key.Scope.ID)
	if err != nil {
		return false
	}
	home, err := h.agentHome(ctx, agent, r)
	return err == nil && h.mine(home)
}

// own reports whether this peer, or another device of its owner, wrote what a session's routine does
// and when. Others who may write to the session must not make extensions of this peer run.
func (h homes) own(ctx context.Context, key routine.Key) bool {
	id, store, err := scopeDoc(key.Scope)
	if err != nil {
		return false
	}
	own := true
	err = h.n.repo.View(ctx, id, func(v *crdt.View) error {
		for _, field := range []string{routine.FieldTrigger, routine.FieldTarget} {
			author, ok := v.RecordAuthor(store, key.ID+"/"+field)
			own = own && ok && (author == h.n.Self() || h.n.pairs.has(author))
		}
		return nil
	})
	return err == nil && own
}

func (h homes) mine(home string) bool {
	p, err := crdt.ParsePeerID(home)
	return err != nil || p == h.n.Self()
}

// agentHome is the home that counts for a schedule: of a pinned one the session's entry for the
// agent, if it is attached there; else the agent's own. A session that is not here is not ours.
func (h homes) agentHome(ctx context.Context, agent crdt.DocID, r routine.Routine) (string, error) {
	var p schedulePayload
	var target struct {
		Session string `json:"session_db_id"`
	}
	if json.Unmarshal(r.Target.Payload, &p) == nil {
		_ = json.Unmarshal(p.Target, &target)
	}
	if target.Session != "" {
		session, err := crdt.ParseDocID(target.Session)
		if err != nil {
			return "", fmt.Errorf("read schedule: %w", err)
		}
		if sum, ok := h.n.repo.Summary(session); !ok || !sum.HasContent {
			return "", fmt.Errorf("read schedule: its session is not here")
		}
		home, attached := "", false
		err = h.n.repo.View(ctx, session, func(v *crdt.View) error {
			for _, a := range (crdt.SessionView{View: v}).Agents() {
				if a.ID == agent {
					home, attached = a.HomePeer, true
				}
			}
			return nil
		})
		if err != nil || attached {
			return home, err
		}
	}
	var home string
	err := h.n.repo.View(ctx, agent, func(v *crdt.View) error { home = crdt.AgentView{View: v}.HomePeer(); return nil })
	return home, err
}
