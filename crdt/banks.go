package crdt

import (
	"encoding/json"
	"slices"
)

// BankView reads a memory bank or a skill bank.
type BankView struct{ *View }

// Name is the bank's display name.
func (b BankView) Name() string { return b.Text(MetaStore, MetaDisplay) }

// Description says what the bank is for.
func (b BankView) Description() string { return b.Text(MetaStore, "description") }

// Rows returns the bank's rows, newest first (timestamp, then id).
func (b BankView) Rows() []Row {
	store := "memory"
	if b.Kind() == SkillBank {
		store = "skills"
	}
	return newestFirst(b.View, store)
}

// PackageView reads a package document: a register of released versions.
type PackageView struct{ *View }

// Name is the package's name.
func (p PackageView) Name() string { return p.Text(MetaStore, MetaName) }

// Releases maps each version to the JSON text of its release record.
func (p PackageView) Releases() map[string]string {
	out := map[string]string{}
	for k, v := range p.Records("releases") {
		out[k] = v
	}
	return out
}

func newestFirst(v *View, store string) []Row {
	type dated struct {
		Row
		at int64
	}
	var all []dated
	for r := range v.Rows(store) {
		var t struct {
			Timestamp int64 `json:"timestamp"`
		}
		_ = json.Unmarshal([]byte(r.Value), &t)
		all = append(all, dated{r, t.Timestamp})
	}
	slices.SortFunc(all, func(a, b dated) int {
		if a.at != b.at {
			if a.at > b.at {
				return -1
			}
			return 1
		}
		return slices.Compare(b.ID[:], a.ID[:])
	})
	out := make([]Row, len(all))
	for i, d := range all {
		out[i] = d.Row
	}
	return out
}
