package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/chaz-peer/chaz-peer/node/sim"
)

// storyKeys are the keys of a scenario file.
func storyKeys() []key[storyReader] {
	return []key[storyReader]{
		{"name", func(r *storyReader, n ast.Node) []fault { return readWith(n, &r.s.Name, notBlank) }},
		{"about", func(r *storyReader, n ast.Node) []fault { return readWith(n, &r.s.About, trimmed) }},
		{"seed", func(r *storyReader, n ast.Node) []fault { return readWith(n, &r.s.Seed, wholeSeed) }},
		{"peers", (*storyReader).readPeers},
		{"latency", func(r *storyReader, n ast.Node) []fault { return readWith(n, &r.s.Latency, simSpan) }},
		{"jitter", func(r *storyReader, n ast.Node) []fault { return readWith(n, &r.s.Jitter, simSpan) }},
		{"links", func(r *storyReader, n ast.Node) []fault { return blocks(r, "link", n, &r.s.Links, r.linkKeys(), nil) }},
		{"steps", func(r *storyReader, n ast.Node) []fault {
			return blocks(r, "step", n, &r.s.Steps, r.stepKeys(), checkStep)
		}},
		{"expect", func(r *storyReader, n ast.Node) []fault {
			return blocks(r, "expect", n, &r.s.Expect, r.expectKeys(), nil)
		}},
	}
}

func (r *storyReader) readPeers(n ast.Node) []fault {
	faults := blocks(r, "peer", n, &r.s.Peers, []key[sim.ScenarioPeer]{
		{"name", func(p *sim.ScenarioPeer, n ast.Node) []fault { return readWith(n, &p.Name, notBlank) }},
		{"role", func(p *sim.ScenarioPeer, n ast.Node) []fault {
			return readWith(n, &p.Role, oneOf("role", "owner", "admin", "write", "read", "none"))
		}},
		{"clock", func(p *sim.ScenarioPeer, n ast.Node) []fault { return readBlock(n, &p.Clock, clockKeys()) }},
		{"rogue", func(p *sim.ScenarioPeer, n ast.Node) []fault { return readFlag(n, &p.Rogue) }},
	}, nil)
	for _, p := range r.s.Peers {
		r.names = append(r.names, p.Name)
	}
	return faults
}

func clockKeys() []key[sim.ScenarioClock] {
	return []key[sim.ScenarioClock]{
		{"offset", func(c *sim.ScenarioClock, n ast.Node) []fault { return readWith(n, &c.Offset, simSpan) }},
		{"at", func(c *sim.ScenarioClock, n ast.Node) []fault { return readWith(n, &c.At, simStamp) }},
		{"drift_ppm", func(c *sim.ScenarioClock, n ast.Node) []fault { return readWith(n, &c.DriftPPM, signed) }},
	}
}

func (r *storyReader) linkKeys() []key[sim.ScenarioLink] {
	return []key[sim.ScenarioLink]{
		{"between", func(l *sim.ScenarioLink, n ast.Node) []fault {
			names, faults := r.readNames(n)
			if len(faults) == 0 && len(names) != 2 {
				return at(n, fmt.Errorf("want two peers, such as [laptop, server]"))
			}
			copy(l.Between[:], names)
			return faults
		}},
		{"latency", func(l *sim.ScenarioLink, n ast.Node) []fault { return readWith(n, &l.Latency, simSpan) }},
		{"jitter", func(l *sim.ScenarioLink, n ast.Node) []fault { return readWith(n, &l.Jitter, simSpan) }},
		{"down", func(l *sim.ScenarioLink, n ast.Node) []fault { return readFlag(n, &l.Down) }},
	}
}

func (r *storyReader) stepKeys() []key[sim.Step] {
	return []key[sim.Step]{
		{"at", func(s *sim.Step, n ast.Node) []fault { return readWith(n, &s.At, simSpan) }},
		{"do", func(s *sim.Step, n ast.Node) []fault { return readWith(n, &s.Do, simAction) }},
		{"peer", func(s *sim.Step, n ast.Node) []fault { return readWith(n, &s.Peer, r.peerName) }},
		{"with", func(s *sim.Step, n ast.Node) []fault { return readWith(n, &s.With, r.peerName) }},
		{"groups", func(s *sim.Step, n ast.Node) []fault { return r.readGroups(n, &s.Groups) }},
		{"name", func(s *sim.Step, n ast.Node) []fault { return readWith(n, &s.Name, notBlank) }},
		{"version", func(s *sim.Step, n ast.Node) []fault { return readWith(n, &s.Version, notBlank) }},
		{"text", func(s *sim.Step, n ast.Node) []fault { return readWith(n, &s.Text, notBlank) }},
		{"role", func(s *sim.Step, n ast.Node) []fault {
			return readWith(n, &s.Role, oneOf("role", "admin", "write", "read"))
		}},
		{"by", func(s *sim.Step, n ast.Node) []fault { return readWith(n, &s.By, simSpan) }},
		{"to", func(s *sim.Step, n ast.Node) []fault { return readWith(n, &s.To, simStamp) }},
		{"ppm", func(s *sim.Step, n ast.Node) []fault { return readWith(n, &s.PPM, signed) }},
		{"for", func(s *sim.Step, n ast.Node) []fault { return readWith(n, &s.For, simSpan) }},
		{"expect", func(s *sim.Step, n ast.Node) []fault {
			s.Expect = &sim.Expect{}
			return readBlock(n, s.Expect, r.expectKeys())
		}},
	}
}

func (r *storyReader) expectKeys() []key[sim.Expect] {
	return []key[sim.Expect]{
		{"peers", func(e *sim.Expect, n ast.Node) (faults []fault) { e.Peers, faults = r.readNames(n); return faults }},
		{"active", func(e *sim.Expect, n ast.Node) []fault { return readEach(n, &e.Active, someText) }},
		{"inactive", func(e *sim.Expect, n ast.Node) []fault { return readEach(n, &e.Inactive, someText) }},
		{"entries", func(e *sim.Expect, n ast.Node) []fault { return readCount(n, &e.Entries) }},
		{"has", func(e *sim.Expect, n ast.Node) []fault { return readBool(n, &e.Has) }},
		{"agree", func(e *sim.Expect, n ast.Node) []fault { return readBool(n, &e.Agree) }},
		{"stored_on", func(e *sim.Expect, n ast.Node) []fault { return readCount(n, &e.StoredOn) }},
		{"scratch", func(e *sim.Expect, n ast.Node) []fault { return readFlag(n, &e.Scratch) }},
	}
}

// takes are the keys that an action takes beside at and do.
func takes() map[sim.Action][]string {
	whom := []string{"peer", "with", "groups"}
	return map[sim.Action][]string{
		sim.DoOn: {"peer", "name", "version"}, sim.DoOff: {"peer", "name"}, sim.DoUpgrade: {"peer", "name", "version"},
		sim.DoStart: {"peer"}, sim.DoPost: {"peer", "text"}, sim.DoSet: {"peer", "name", "text"}, sim.DoOwn: {"peer", "text"},
		sim.DoGrant: {"peer", "with", "role"}, sim.DoJoin: {"peer", "with", "role"},
		sim.DoPartition: append(whom, "for"), sim.DoHeal: whom, sim.DoReset: {"peer", "with"},
		sim.DoBlock: {"peer", "with", "for"}, sim.DoUnblock: {"peer", "with"},
		sim.DoJump: {"peer", "by"}, sim.DoClock: {"peer", "to"}, sim.DoDrift: {"peer", "ppm"}, sim.DoCorrect: {"peer"},
		sim.DoCrash: {"peer", "for"}, sim.DoStop: {"peer", "for"}, sim.DoRestart: {"peer"},
		sim.DoBackup: {"peer"}, sim.DoRestore: {"peer", "for"}, sim.DoEvict: {"peer"}, sim.DoCompact: {"peer"},
		sim.DoFull: {"peer", "for"}, sim.DoRoom: {"peer"}, sim.DoWait: {"for"}, sim.DoExpect: {"expect"},
	}
}

// checkStep refuses a key that the action of a step has no use for.
func checkStep(s sim.Step, entries []*ast.MappingValueNode) []fault {
	if s.Do == "" {
		return at(entries[0].Key, fmt.Errorf("a step without do"))
	}
	var faults []fault
	known := append([]string{"at", "do"}, takes()[s.Do]...)
	for _, e := range entries {
		if name, line := keyOf(e); !slices.Contains(known, name) {
			faults = append(faults, fault{line, fmt.Sprintf("%s has no use for %s, it takes %s", s.Do, name, strings.Join(known[2:], ", "))})
		}
	}
	return faults
}

func (r *storyReader) peerName(s string) (string, error) { return oneOf("peer", r.names...)(s) }

func (r *storyReader) readNames(n ast.Node) (names []string, faults []fault) {
	faults = readEach(n, &names, func(s string) ([]string, error) {
		s, err := r.peerName(s)
		return []string{s}, err
	})
	return names, faults
}

func (r *storyReader) readGroups(n ast.Node, to *[][]string) []fault {
	var faults []fault
	for _, item := range listOf(n) {
		names, found := r.readNames(item)
		faults = append(faults, found...)
		*to = append(*to, names)
	}
	if len(*to) < 2 && len(faults) == 0 {
		return at(n, fmt.Errorf("want at least two groups, such as [[laptop], [server, phone]]"))
	}
	return faults
}

func simAction(s string) (sim.Action, error) {
	var words []string
	for a := range sim.Actions() {
		words = append(words, string(a))
	}
	slices.Sort(words)
	s, err := oneOf("action", words...)(s)
	return sim.Action(s), err
}

func simSpan(s string) (sim.Duration, error) {
	d, err := parseDuration(s)
	return sim.Duration(d), err
}

// simStamp leaves what a stamp may be to the lab, but for slips that are common.
func simStamp(s string) (sim.Stamp, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return sim.Stamp(t.Format(time.RFC3339)), nil
	}
	return sim.Stamp(s), nil
}

func signed(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number", clipText(s))
	}
	return n, nil
}

func wholeSeed(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no seed: want a whole number from 0", clipText(s))
	}
	return n, nil
}

func readCount(n ast.Node, to **int) []fault {
	*to = new(int)
	return readWhole(n, *to, 0, 1_000_000)
}

func notBlank(s string) (string, error) {
	_, err := someText(s)
	return s, err
}

func trimmed(s string) (string, error) { return strings.TrimSpace(s), nil }
