package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node/control"
	"github.com/chaz-peer/chaz-peer/routine"
)

// engineClock is the node's clock, which may be skewed, with the machine's sense of how long a pause
// is.
type engineClock struct{ crdt.Clock }

func (engineClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// dispatcher hands fires to extensions.
type dispatcher struct{ n *Node }

// Dispatch implements [routine.Dispatcher].
func (d dispatcher) Dispatch(ctx context.Context, ext string, key routine.Key, payload json.RawMessage) error {
	if err := d.n.loading.readyFor(ctx, ext, key.Scope); err != nil {
		return err
	}
	return d.n.hub.Routine(ctx, ext, extension.Fire{Routine: key.ID, Scope: key.Scope.String(), Payload: payload})
}

func (n *Node) openRoutines() {
	store := routineStore{n, crdt.NewTable[map[string]string](n.home.store, "routines")}
	n.routines = routine.New(routine.Config{
		Store: store, Dispatcher: dispatcher{n}, Homes: homes{n}, Clock: engineClock{n.clock}, Log: n.log,
		MaxConcurrent: n.cfg.RoutineConcurrency, Deadline: n.cfg.RoutineDeadline,
	})
}

// loadRoutines reads all routines for a command without a daemon; a daemon has them loaded.
func (n *Node) loadRoutines(ctx context.Context) error {
	if n.getOnline() != nil {
		return nil
	}
	return n.routines.Load(ctx)
}

func (n *Node) routineList(ctx context.Context, _ control.RoutineListParams) (control.List[control.Routine], error) {
	if err := n.loadRoutines(ctx); err != nil {
		return nil, err
	}
	out := control.List[control.Routine]{}
	for _, i := range n.routines.List() {
		out = append(out, routineOut(i))
	}
	return out, nil
}

func routineOut(i routine.Info) control.Routine {
	r := i.Routine
	out := control.Routine{
		ID: i.Key.String(), Name: r.Name, Scope: string(i.Key.Scope.Kind), Extension: r.Target.Extension, Payload: r.Target.Payload,
		Enabled: r.Enabled, Failures: r.Failures, LastError: r.LastError, Reason: i.Inert,
	}
	if out.Scope == "" {
		out.Scope = "global"
	}
	out.Trigger, _ = json.Marshal(r.Trigger)
	if !i.Next.IsZero() {
		at := control.Time(i.Next.UnixMilli())
		out.Next = &at
	}
	if i.Skips > 0 && out.Reason == "" {
		out.Reason = fmt.Sprintf("another peer is its home: passed over %d times", i.Skips)
	}
	return out
}

func (n *Node) routineAdd(ctx context.Context, p control.RoutineAddParams) (control.Routine, error) {
	if err := n.loadRoutines(ctx); err != nil {
		return control.Routine{}, err
	}
	trigger, err := triggerOf(p)
	if err != nil {
		return control.Routine{}, usage("see `chaz-peer routine add --help`", "add routine: %s", err)
	}
	scope := routine.Global()
	var session crdt.DocID
	if p.Session != "" {
		if session, err = n.findSession(p.Session); err != nil {
			return control.Routine{}, err
		}
		scope = routine.Session(session.String())
	}
	known, err := n.mayTarget(ctx, p.Extension, session)
	if err != nil {
		return control.Routine{}, err
	}
	if !known {
		return control.Routine{}, &control.Error{
			Code: control.CodeNotFound, Cause: fmt.Sprintf("add routine: no extension %.60q is installed here", p.Extension),
			Remedy: "see `/extensions list` for the names; one that a session alone has needs --session",
		}
	}
	id := p.ID
	if id == "" {
		id = routine.NewID(p.Extension, n.clock.Now())
	}
	r := routine.NewRoutine(id, trigger, p.Extension, p.Payload)
	r.Name = p.Name
	key := routine.Key{Scope: scope, ID: id}
	if err := n.routines.Add(ctx, scope, r); err != nil {
		return control.Routine{}, routineError(err)
	}
	info, _ := n.routines.Get(key)
	return routineOut(info), nil
}

func triggerOf(p control.RoutineAddParams) (routine.Trigger, error) {
	switch {
	case p.Cron != "" && p.EverySecs == 0 && p.At == "":
		return routine.Cron(p.Cron, p.TZ)
	case p.EverySecs != 0 && p.Cron == "" && p.At == "":
		return routine.Every(time.Duration(p.EverySecs) * time.Second)
	case p.At != "" && p.Cron == "" && p.EverySecs == 0:
		at, err := time.Parse(time.RFC3339, p.At)
		if err != nil {
			return routine.Trigger{}, fmt.Errorf("the time %.40q is not RFC 3339", p.At)
		}
		return routine.Once(at)
	}
	return routine.Trigger{}, errors.New("want one of cron, every and at")
}

func routineError(err error) error {
	switch {
	case errors.Is(err, routine.ErrExists):
		return &control.Error{Code: control.CodeConflict, Cause: err.Error(), Remedy: "remove it first, or choose another id"}
	case errors.Is(err, routine.ErrNotFound):
		return &control.Error{Code: control.CodeNotFound, Cause: err.Error(), Remedy: "see `chaz-peer routine list`"}
	case errors.Is(err, routine.ErrAgentRow), errors.Is(err, routine.ErrRunning), errors.Is(err, routine.ErrNotHome):
		return &control.Error{Code: control.CodeConflict, Cause: err.Error()}
	}
	return denied(err)
}

// findRoutine resolves a routine by its full id, or by the part behind its scope if one has it.
func (n *Node) findRoutine(ctx context.Context, ref string) (routine.Key, error) {
	if err := n.loadRoutines(ctx); err != nil {
		return routine.Key{}, err
	}
	var all []candidate
	for _, i := range n.routines.List() {
		all = append(all, candidate{i.Key.String(), i.Key.ID})
	}
	id, err := pick("routine", ref, all)
	if err != nil {
		return routine.Key{}, err
	}
	return routine.ParseKey(id)
}

func (n *Node) routineRemove(ctx context.Context, p control.RoutineParams) (control.Routine, error) {
	key, err := n.findRoutine(ctx, p.Routine)
	if err != nil {
		return control.Routine{}, err
	}
	info, _ := n.routines.Get(key)
	return routineOut(info), routineError(n.routines.Remove(ctx, key))
}

func (n *Node) routineRun(ctx context.Context, p control.RoutineParams) (control.Routine, error) {
	key, err := n.findRoutine(ctx, p.Routine)
	if err != nil {
		return control.Routine{}, err
	}
	if err := n.routines.RunNow(ctx, key); err != nil {
		return control.Routine{}, routineError(err)
	}
	info, ok := n.routines.Get(key)
	if !ok { // a one-shot that fired is gone
		return control.Routine{ID: key.String()}, nil
	}
	return routineOut(info), nil
}

// reloadRoutines follows a document that changed, or whose place here did: its routines are read
// again. What this peer does not fire for any more has none; see [routineStore.Rows].
func (n *Node) reloadRoutines(ctx context.Context, id crdt.DocID) {
	scopes := []routine.Scope{routine.Session(id.String()), routine.Agent(id.String())}
	if sum, ok := n.repo.Summary(id); ok { // else it is gone, whichever it was
		switch sum.Kind {
		case crdt.Session:
			scopes = scopes[:1]
		case crdt.Agent:
			scopes = scopes[1:]
		default:
			return
		}
	}
	for _, s := range scopes {
		if err := n.routines.Reload(ctx, s); err != nil && ctx.Err() == nil {
			n.log.Error("routines unreadable", "doc", id.Short(), "cause", err)
		}
	}
}

// firesFor says whether this peer fires the routines of a scope: its own, those of open sessions and
// of agents hosted here.
func (n *Node) firesFor(ctx context.Context, scope routine.Scope) (bool, error) {
	switch scope.Kind {
	case routine.ScopeSession:
		id, err := crdt.ParseDocID(scope.ID)
		if err != nil {
			return false, err
		}
		row, err := n.cataloged(ctx, id)
		return !row.Closed, err
	case routine.ScopeAgent:
		id, err := crdt.ParseDocID(scope.ID)
		if err != nil {
			return false, err
		}
		access, err := n.repo.Access(ctx, id)
		if err != nil {
			return false, err
		}
		return n.roleIn(access) >= crdt.Write, nil
	}
	return true, nil
}
