package bank

import (
	"errors"
	"fmt"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// Kind is one kind of bank.
type Kind struct {
	Word   string    // the slash command
	Noun   string    // one bank
	Things string    // what is in it
	Doc    crdt.Kind // of its documents
	Rows   string    // the row store that holds the things, in banks and in agents' documents
	Refs   string    // the record store of an agent's document that holds its grants
}

// Memory is the kind of memory banks.
func Memory() Kind {
	return Kind{Word: "memory", Noun: "memory bank", Things: "memories", Doc: crdt.MemoryBank, Rows: "memory", Refs: "memory_banks"}
}

// Skills is the kind of skill banks.
func Skills() Kind {
	return Kind{Word: "skills", Noun: "skill bank", Things: "skills", Doc: crdt.SkillBank, Rows: "skills", Refs: "skill_banks"}
}

// Self is the name of an agent's own rows where a bank is named.
const Self = "self"

var (
	errNoBanks  = errors.New("no door to banks here")
	errNoAgents = errors.New("no door to agents here")
)

// banks is the peer's index of the kind.
func (k Kind) banks(p *extension.Peer) (extension.Banks, error) {
	b := p.MemoryBanks
	if k.Doc == crdt.SkillBank {
		b = p.SkillBanks
	}
	if b == nil {
		return nil, fmt.Errorf("find %s: %w", k.Noun, errNoBanks)
	}
	return b, nil
}
