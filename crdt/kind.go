package crdt

import "fmt"

// Kind says what a document is for, and with that which stores it has. The kinds and their store
// lists are part of the format: the genesis change is computed from them.
type Kind string

// The kinds of document.
const (
	Session    Kind = "session"
	Agent      Kind = "agent"
	MemoryBank Kind = "memory_bank"
	SkillBank  Kind = "skill_bank"
	Package    Kind = "package"
)

// ParseKind reads the text form of a kind.
func ParseKind(s string) (Kind, error) {
	k := Kind(s)
	if len(k.Stores()) == 0 {
		return "", fmt.Errorf("parse document kind %q: want session, agent, memory_bank, skill_bank or package", clip(s))
	}
	return k, nil
}

// StoreSpec is what the format says about one store (root map) of a kind.
type StoreSpec struct {
	Name string
	// Rows: keys are the SHA-256 of the value, values never change. Otherwise the store holds
	// records: one key a field, replaced whole.
	Rows bool
	// Deletable rows may be deleted (never changed). Record fields always may.
	Deletable bool
	// AdminOnly stores may be written by admins and owners only.
	AdminOnly bool
}

func rows(name string) StoreSpec    { return StoreSpec{Name: name, Rows: true} }
func records(name string) StoreSpec { return StoreSpec{Name: name} }
func deletable(name string) StoreSpec {
	return StoreSpec{Name: name, Rows: true, Deletable: true}
}
func adminOnly(name string) StoreSpec { return StoreSpec{Name: name, AdminOnly: true} }

// MetaStore is the record store that every kind has; MetaDocKey is its field that holds the
// document id, written by the genesis change.
const (
	MetaStore  = "meta"
	MetaDocKey = "doc"
)

// Stores lists the stores of the kind in genesis order: the i-th (from 0) is the Automerge object
// (counter i+1, actor 0). It is empty for an unknown kind.
func (k Kind) Stores() []StoreSpec {
	switch k {
	case Session:
		return []StoreSpec{
			rows("entries"), rows("extensions"), rows("x_rows"),
			adminOnly(MetaStore), records("agents"), records("extension_settings"), records("routines"), records("x_records"),
		}
	case Agent:
		return []StoreSpec{
			rows("extensions"), deletable("memory"), rows("skills"), rows("history"), deletable("schedule_fires"), rows("x_rows"),
			adminOnly(MetaStore), adminOnly("config"), records("memory_banks"), records("skill_banks"), records("schedules"),
			records("sessions"), records("embeddings"), records("x_records"),
		}
	case MemoryBank:
		return []StoreSpec{deletable("memory"), rows("x_rows"), adminOnly(MetaStore), records("x_records")}
	case SkillBank:
		return []StoreSpec{rows("skills"), rows("x_rows"), adminOnly(MetaStore), records("x_records")}
	case Package:
		return []StoreSpec{rows("x_rows"), adminOnly(MetaStore), records("releases"), records("x_records")}
	}
	return nil
}

// Store finds a store of the kind by name.
func (k Kind) Store(name string) (StoreSpec, bool) {
	for _, s := range k.Stores() {
		if s.Name == name {
			return s, true
		}
	}
	return StoreSpec{}, false
}
