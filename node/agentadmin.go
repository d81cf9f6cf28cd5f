package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// schedulesStore holds an agent's schedules, one key a field: "<id>/<field>". A schedule is there
// as long as its trigger is.
const (
	schedulesStore   = "schedules"
	scheduleExists   = "trigger"
	maxScheduleField = 64 << 10
)

// agentAdmin administers agents for one extension. With limited, only agents with a name on the
// list are there for it.
type agentAdmin struct {
	n       *Node
	names   []string
	limited bool
}

// Resolve implements [extension.AgentAdmin]. An agent out of scope looks exactly like one that is
// not there.
func (a *agentAdmin) Resolve(ctx context.Context, c extension.Call, ref string) (extension.Agent, error) {
	none := fmt.Errorf("find agent %.60q: %w", ref, extension.ErrNoAgent)
	if ref == "" {
		ref = c.Agent.ID.String()
	}
	id, err := docIndex{a.n, crdt.Agent, true}.find(ctx, ref, func(e extension.Entry) bool {
		return !a.limited || slices.Contains(a.names, e.Name)
	})
	if errors.Is(err, extension.ErrNotFound) {
		return extension.Agent{}, none
	}
	if err != nil {
		return extension.Agent{}, err
	}
	sum, _ := a.n.repo.Summary(id)
	return extension.Agent{ID: id, Name: a.n.docName(ctx, sum)}, nil
}

// check refuses agents that Resolve would not have given out.
func (a *agentAdmin) check(ctx context.Context, agent extension.Agent) error {
	_, err := a.Resolve(ctx, extension.Call{}, agent.ID.String())
	return err
}

// Schedules implements [extension.AgentAdmin].
func (a *agentAdmin) Schedules(ctx context.Context, agent extension.Agent) (map[string]map[string]json.RawMessage, error) {
	if err := a.check(ctx, agent); err != nil {
		return nil, err
	}
	var out map[string]map[string]json.RawMessage
	err := a.n.repo.View(ctx, agent.ID, func(v *crdt.View) error { out = readRecords(v, schedulesStore, scheduleExists); return nil })
	return out, err
}

// readRecords gathers the fields of each record of a store that has its mandatory field.
func readRecords(v *crdt.View, store, mandatory string) map[string]map[string]json.RawMessage {
	out := map[string]map[string]json.RawMessage{}
	for key, text := range v.Records(store) {
		i := strings.LastIndexByte(key, '/')
		if i < 1 {
			continue
		}
		id, field := key[:i], key[i+1:]
		if out[id] == nil {
			out[id] = map[string]json.RawMessage{}
		}
		out[id][field] = json.RawMessage(text)
	}
	for id, fields := range out {
		if fields[mandatory] == nil {
			delete(out, id) // left behind by a delete that raced an edit
		}
	}
	return out
}

// PutSchedule implements [extension.AgentAdmin].
func (a *agentAdmin) PutSchedule(ctx context.Context, agent extension.Agent, id string, fields map[string]any, create bool) error {
	if err := a.check(ctx, agent); err != nil {
		return err
	}
	if id == "" || len(id) > 200 || strings.ContainsRune(id, '/') {
		return fmt.Errorf("write schedule %.40q: %w: an id has 1 to 200 bytes and no slash", id, extension.ErrArgument)
	}
	return docHandle{a.n, agent.ID}.Update(ctx, func(tx *crdt.Tx) error {
		_, there := tx.Record(schedulesStore, id+"/"+scheduleExists)
		switch {
		case create && there:
			return fmt.Errorf("write schedule %s: %w: there is one of this id", id, extension.ErrArgument)
		case !create && !there:
			return fmt.Errorf("write schedule %s: %w", id, extension.ErrNotFound)
		}
		for field, v := range fields {
			if v == nil {
				if err := tx.Delete(schedulesStore, id+"/"+field); err != nil {
					return err
				}
				continue
			}
			text, err := crdt.Canonical(v)
			if err != nil || len(text) > maxScheduleField {
				return fmt.Errorf("write schedule %s: %w: field %s", id, extension.ErrArgument, field)
			}
			if err := tx.Set(schedulesStore, id+"/"+field, v); err != nil {
				return err
			}
		}
		return nil
	})
}

// RemoveSchedule implements [extension.AgentAdmin].
func (a *agentAdmin) RemoveSchedule(ctx context.Context, agent extension.Agent, id string) (bool, error) {
	if err := a.check(ctx, agent); err != nil {
		return false, err
	}
	there := false
	err := docHandle{a.n, agent.ID}.Update(ctx, func(tx *crdt.Tx) error {
		for key := range tx.Records(schedulesStore) {
			if i := strings.LastIndexByte(key, '/'); i < 0 || key[:i] != id {
				continue
			}
			if strings.HasSuffix(key, "/"+scheduleExists) {
				there = true
			}
			if err := tx.Delete(schedulesStore, key); err != nil {
				return err
			}
		}
		return nil
	})
	return there, err
}
