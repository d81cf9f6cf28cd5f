package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// ParseScenario reads a scenario strictly: unknown fields, unknown words and missing ones are errors
// that name the place.
func ParseScenario(text []byte) (*Scenario, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var s Scenario
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read scenario: something follows the object")
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return &s, nil
}

// Check reports the first thing that makes no sense.
func (s *Scenario) Check() error {
	c := &compiler{s: s}
	if err := c.peers(); err != nil {
		return fmt.Errorf("read scenario: %w", err)
	}
	_, err := c.steps()
	if err == nil {
		for i := range s.Expect {
			if err = c.expect(&s.Expect[i]); err != nil {
				err = fmt.Errorf("expect %d: %w", i+1, err)
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("read scenario: %w", err)
	}
	return nil
}

// compiler turns the words of a scenario into steps.
type compiler struct {
	s      *Scenario
	number map[string]int
}

func (c *compiler) peers() error {
	if n := len(c.s.Peers); n < 2 || n > 26 {
		return fmt.Errorf("%d peers, want 2 to 26", n)
	}
	c.number = map[string]int{}
	for i, p := range c.s.Peers {
		if _, twice := c.number[p.Name]; p.Name == "" || twice || strings.ContainsAny(p.Name, " \t\n") {
			return fmt.Errorf("peer %d: the name %q is empty, taken, or has spaces", i+1, p.Name)
		}
		c.number[p.Name] = i
		if _, err := startRole(i, p.Role); err != nil {
			return fmt.Errorf("peer %s: %w", p.Name, err)
		}
		if p.Rogue && p.Role != "read" {
			return fmt.Errorf("peer %s: a rogue is a reader", p.Name)
		}
		if p.Clock.At != "" {
			if _, err := p.Clock.At.millis(); err != nil {
				return fmt.Errorf("peer %s: %w", p.Name, err)
			}
		}
	}
	for i, l := range c.s.Links {
		if _, err := c.pair(l.Between[0], l.Between[1]); err != nil {
			return fmt.Errorf("link %d: %w", i+1, err)
		}
		if l.Latency < 0 || l.Jitter < 0 {
			return fmt.Errorf("link %d: a negative time", i+1)
		}
	}
	return nil
}

func startRole(i int, word string) (crdt.Role, error) {
	switch {
	case word == "" && i > 0:
		return crdt.Write, nil
	case i == 0 && (word == "" || word == "owner"):
		return crdt.Owner, nil
	case i == 0:
		return crdt.NoRole, errors.New("the first peer owns the session")
	case word == "none":
		return crdt.NoRole, nil
	}
	return grantRole(word)
}

func grantRole(word string) (crdt.Role, error) {
	r, err := crdt.ParseRole(word)
	if err == nil && (r < crdt.Read || r > crdt.Admin) {
		err = fmt.Errorf("role %q, want admin, write or read", word)
	}
	return r, err
}

func (c *compiler) peer(name string) (int, error) {
	n, ok := c.number[name]
	if !ok {
		return 0, fmt.Errorf("no peer %q", name)
	}
	return n, nil
}

func (c *compiler) pair(a, b string) ([2]int, error) {
	x, err := c.peer(a)
	if err != nil {
		return [2]int{}, err
	}
	y, err := c.peer(b)
	if err == nil && x == y {
		err = fmt.Errorf("%s has no link to itself", a)
	}
	return [2]int{x, y}, err
}

func (c *compiler) expect(e *Expect) error {
	for _, name := range e.Peers {
		if _, err := c.peer(name); err != nil {
			return err
		}
	}
	if e.Entries != nil && *e.Entries < 0 || e.StoredOn != nil && *e.StoredOn < 0 {
		return errors.New("a negative count")
	}
	return nil
}
