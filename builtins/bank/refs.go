package bank

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Ref is a grant: what an agent's document says about a bank that the agent may use. It is a record
// with the fields name, db_id and permission (read or write) under the bank's id.
type Ref struct {
	Name  string // as the bank was called when it was granted
	ID    crdt.DocID
	Write bool
}

func (r Ref) permission() string { return permission(r.Write) }

func permission(write bool) string {
	if write {
		return crdt.Write.String()
	}
	return crdt.Read.String()
}

// maxRefs is how many grants of one agent are looked at.
const maxRefs = 256

// refs reads the grants of an agent's document, by name and then id. A record counts only with its
// id and a permission that is known here; others may have been left by a delete that raced an edit.
func refs(v *crdt.View, store string) []Ref {
	var out []Ref
	for key := range v.Records(store) {
		id, field, _ := strings.Cut(key, "/")
		if field != "db_id" || len(out) == maxRefs {
			continue
		}
		doc, err := crdt.ParseDocID(id)
		if err != nil || v.Text(store, key) != id {
			continue
		}
		role, err := crdt.ParseRole(v.Text(store, id+"/permission"))
		if err != nil || role > crdt.Write {
			continue
		}
		out = append(out, Ref{v.Text(store, id+"/name"), doc, role == crdt.Write})
	}
	slices.SortFunc(out, func(a, b Ref) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), slices.Compare(a.ID[:], b.ID[:]))
	})
	return out
}

func putRef(tx *crdt.Tx, store string, r Ref) error {
	id := r.ID.String()
	for field, value := range map[string]string{"name": r.Name, "db_id": id, "permission": r.permission()} {
		if err := tx.Set(store, id+"/"+field, value); err != nil {
			return err
		}
	}
	return nil
}

func deleteRef(tx *crdt.Tx, store string, id crdt.DocID) error {
	for key := range tx.Records(store) {
		if strings.HasPrefix(key, id.String()+"/") {
			if err := tx.Delete(store, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// Setting is the key of the session's setting that lists attached banks by name or id.
const Setting = "attached_banks"

// maxAttached is how many attached banks of one session are looked at.
const maxAttached = 64

// Lent reads [Setting]: a list of texts, or one text. Anything else, and nil settings, is none.
func Lent(ctx context.Context, s extension.SettingsAccess) ([]string, error) {
	if s == nil {
		return nil, nil
	}
	value, err := s.Get(ctx, Setting)
	if err != nil {
		return nil, err
	}
	return lent(value), nil
}

func lent(value json.RawMessage) []string {
	var list []string
	var one string
	if json.Unmarshal(value, &one) == nil && one != "" {
		list = []string{one}
	} else if json.Unmarshal(value, &list) != nil {
		return nil
	}
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	return list[:min(len(list), maxAttached)]
}
