package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// minPrefix is how much of an id stands for all of it.
const minPrefix = 8

// names is a peer-local table of unique names, kept in memory too. Safe for concurrent use.
type names struct {
	table *crdt.Table[string]
	what  string // for messages: "session", "peer"

	mu   sync.RWMutex
	byID map[string]string
}

func openNames(ctx context.Context, store crdt.Store, table, what string) (*names, error) {
	n := &names{table: crdt.NewTable[string](store, table), what: what, byID: map[string]string{}}
	err := n.table.All(ctx, func(id, name string) error { n.byID[id] = name; return nil })
	return n, err
}

// of returns the name of an id, or "".
func (n *names) of(id string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.byID[id]
}

// byName returns the id that has the name.
func (n *names) byName(name string) (string, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for id, have := range n.byID {
		if have == name && name != "" {
			return id, true
		}
	}
	return "", false
}

// set gives an id a name; "" takes it away. A name in use by another id is a conflict.
func (n *names) set(ctx context.Context, id, name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := checkName(name); err != nil {
		return err
	}
	for other, have := range n.byID {
		if have == name && name != "" && other != id {
			return &control.Error{Code: control.CodeConflict, Cause: fmt.Sprintf("name %s: another %s has it", name, n.what), Remedy: "choose another name, or rename that one"}
		}
	}
	if name == "" {
		delete(n.byID, id)
		return n.table.Delete(ctx, id)
	}
	if err := n.table.Put(ctx, id, name); err != nil {
		return err
	}
	n.byID[id] = name
	return nil
}

// free returns name, or name-2, name-3 … if it is taken by another id.
func (n *names) free(id, name string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	taken := map[string]bool{}
	for other, have := range n.byID {
		if other != id {
			taken[have] = true
		}
	}
	for i := 2; ; i++ {
		if !taken[name] {
			return name
		}
		name = fmt.Sprintf("%s-%d", strings.TrimSuffix(name, fmt.Sprintf("-%d", i-1)), i)
	}
}

func checkName(name string) error {
	bad := len(name) > 120 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
	if bad || strings.TrimSpace(name) != name {
		return &control.Error{Code: control.CodeUsage, Cause: fmt.Sprintf("name %.40q: too long, or with control characters or blanks at an end", name), Remedy: "use at most 120 printable characters"}
	}
	return nil
}

// candidate is something that a reference may mean.
type candidate struct{ id, name string }

// pick finds what a reference means: a full id, a unique name, or a unique prefix of an id. A name
// that several have is ambiguous, whatever else it could be.
func pick(what, ref string, all []candidate) (string, error) {
	var byName, byPrefix []candidate
	for _, c := range all {
		switch {
		case c.id == ref:
			return c.id, nil
		case c.name == ref && ref != "":
			byName = append(byName, c)
		case len(ref) >= minPrefix && strings.HasPrefix(c.id, ref):
			byPrefix = append(byPrefix, c)
		}
	}
	found := byName
	if len(found) == 0 {
		found = byPrefix
	}
	switch len(found) {
	case 1:
		return found[0].id, nil
	case 0:
		return "", &control.Error{
			Code: control.CodeNotFound, Cause: fmt.Sprintf("find %s %.60q: none here has this id, prefix or name", what, ref),
			Remedy: fmt.Sprintf("see `chaz-peer %s`; a prefix needs at least %d characters", listing(what), minPrefix),
		}
	}
	e := &control.Error{Code: control.CodeAmbiguous, Cause: fmt.Sprintf("find %s %.60q: it fits several", what, ref), Remedy: "give more characters of the id"}
	for _, c := range found {
		e.Candidates = append(e.Candidates, strings.TrimSpace(c.id+" "+c.name))
	}
	slices.Sort(e.Candidates)
	return "", e
}

// listing is the command that lists what a reference can mean.
func listing(what string) string {
	switch what {
	case "peer":
		return "peers list"
	case "request":
		return "peers pending"
	case "ticket":
		return "session tickets` or `chaz-peer agent tickets"
	}
	return what + " list"
}
