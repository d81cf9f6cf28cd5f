package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

// faultOf is the class that a scenario's step counts for.
func faultOf(do Action) Fault {
	switch do {
	case DoPartition:
		return FaultPartition
	case DoReset:
		return FaultReset
	case DoBlock:
		return FaultOneWay
	case DoJump:
		return FaultJump
	case DoClock:
		return FaultExtreme
	case DoDrift:
		return FaultDrift
	case DoCorrect:
		return FaultNTP
	case DoCrash:
		return FaultCrash
	case DoStop:
		return FaultRestart
	case DoRestore:
		return FaultRestore
	case DoGrant:
		return FaultGrant
	case DoJoin:
		return FaultInvite
	}
	return ""
}

// steps turns every step into one or several acts.
func (c *compiler) steps() ([]act, error) {
	var out []act
	last := Duration(0)
	for i := range c.s.Steps {
		s := &c.s.Steps[i]
		if s.At != 0 && s.At < last {
			return nil, fmt.Errorf("step %d (%s): at %s, which is before the step above it", i+1, s.Do, time.Duration(s.At))
		}
		last = max(last, s.At)
		acts, err := c.step(i, s)
		if err != nil {
			return nil, fmt.Errorf("step %d (%s): %w", i+1, s.Do, err)
		}
		out = append(out, acts...)
	}
	return out, nil
}

func (c *compiler) step(i int, s *Step) ([]act, error) {
	a := act{n: i, at: time.Duration(s.At), do: s.Do, fault: faultOf(s.Do), name: s.Name, text: s.Text, for_: time.Duration(s.For), want: s.Expect}
	if _, known := Actions()[s.Do]; !known {
		return nil, errors.New("no such action")
	}
	if s.For < 0 {
		return nil, errors.New("a negative time")
	}
	a.arg = mix(uint64(i), s.Version, 0)
	a.version = s.Version
	switch s.Do {
	case DoWait:
		return []act{a}, nil
	case DoExpect:
		if s.Expect == nil {
			return nil, errors.New("nothing to expect")
		}
		return []act{a}, c.expect(s.Expect)
	case DoPartition, DoHeal:
		return c.cut(a, s)
	}
	if s.Expect != nil {
		return nil, errors.New("expect belongs to the action expect")
	}
	var err error
	if a.a, err = c.peer(s.Peer); err != nil {
		return nil, err
	}
	a.b = (a.a + 1) % len(c.s.Peers)
	if s.Do == DoPost && c.s.Peers[a.a].Rogue {
		a.do = doRogue // its program writes without the right
	}
	err = c.fields(&a, s)
	return []act{a}, err
}

// fields reads what an action needs beside its peer.
func (c *compiler) fields(a *act, s *Step) (err error) {
	switch s.Do {
	case DoGrant, DoJoin, DoReset, DoBlock, DoUnblock:
		p, err := c.pair(s.Peer, s.With)
		if err != nil {
			return err
		}
		a.b = p[1]
	}
	switch s.Do {
	case DoOn, DoOff, DoUpgrade, DoSet:
		if !extension.ValidName(s.Name) || extension.ReservedName(s.Name) && s.Do != DoSet {
			return fmt.Errorf("%q is no name of an extension that can be switched", s.Name)
		}
	case DoOwn, DoPost:
		if s.Text == "" {
			return errors.New("no text")
		}
	case DoGrant, DoJoin:
		a.role, err = grantRole(s.Role)
	case DoJump:
		if a.for_ = time.Duration(s.By); s.By == 0 {
			return errors.New("by how much?")
		}
	case DoClock:
		a.stamp, err = s.To.millis()
	case DoDrift:
		if a.stamp = s.PPM; s.PPM <= -1_000_000 || s.PPM > 1_000_000 {
			return fmt.Errorf("%d ppm: a clock may not stand still or run backwards", s.PPM)
		}
	}
	return err
}

// cut lists the links that a partition or a heal is about.
func (c *compiler) cut(a act, s *Step) ([]act, error) {
	var pairs [][2]int
	switch {
	case len(s.Groups) > 0 && s.Peer == "":
		for i, g := range s.Groups {
			for _, h := range s.Groups[i+1:] {
				for _, x := range g {
					for _, y := range h {
						p, err := c.pair(x, y)
						if err != nil {
							return nil, err
						}
						pairs = append(pairs, p)
					}
				}
			}
		}
	case s.Peer != "" && s.With != "":
		p, err := c.pair(s.Peer, s.With)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	case s.Peer != "":
		x, err := c.peer(s.Peer)
		if err != nil {
			return nil, err
		}
		for y := range c.s.Peers {
			if y != x {
				pairs = append(pairs, [2]int{x, y})
			}
		}
	case s.Do == DoHeal:
		for x := range c.s.Peers {
			for y := range x {
				pairs = append(pairs, [2]int{y, x})
			}
		}
	default:
		return nil, errors.New("who is cut off from whom?")
	}
	acts := make([]act, len(pairs))
	for i, p := range pairs {
		acts[i] = a
		acts[i].a, acts[i].b = p[0], p[1]
	}
	return acts, nil
}
