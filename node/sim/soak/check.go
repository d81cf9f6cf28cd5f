package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// view is what one daemon shows of a session.
type view struct {
	show    control.SessionShow
	entries []control.Entry
}

// active lists what is on, as the session's log says.
func active(s control.SessionShow) []string {
	var out []string
	for _, e := range s.Extensions {
		if e.SessionActive {
			out = append(out, e.Name+" "+string(e.Ref))
		}
	}
	return out
}

func (d *daemon) show(ctx context.Context, session string) (control.SessionShow, error) {
	api := d.api()
	if api == nil {
		return control.SessionShow{}, fmt.Errorf("%s does not run", d.name)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s, err := control.Call(ctx, api, control.SessionDetails, control.SessionShowParams{Session: session})
	if err != nil {
		return s, fmt.Errorf("ask %s: %w", d.name, err)
	}
	slices.Sort(s.Heads)
	return s, nil
}

func (d *daemon) look(ctx context.Context, session string) (view, error) {
	var v view
	var err error
	if v.show, err = d.show(ctx, session); err != nil {
		return v, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err = control.CallStream(ctx, d.api(), control.SessionLog, control.SessionLogParams{Session: session}, nil, func(e control.Entry) error {
		v.entries = append(v.entries, e)
		return nil
	})
	if err != nil {
		return v, fmt.Errorf("read the log of %s: %w", d.name, err)
	}
	return v, nil
}

// lookAgain is how often a wait looks.
const lookAgain = 100 * time.Millisecond

// settle waits until daemons have equal heads of a session and each knows that all of them store it.
func settle(ctx context.Context, peers []*daemon, session string, within time.Duration) (time.Duration, error) {
	start := time.Now()
	var last error
	for {
		if last = equalHeads(ctx, peers, session); last == nil {
			return time.Since(start), nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if time.Since(start) > within {
			return 0, fmt.Errorf("no agreement after %s: %w", within, last)
		}
		time.Sleep(lookAgain)
	}
}

func equalHeads(ctx context.Context, peers []*daemon, session string) error {
	var first control.SessionShow
	for i, d := range peers {
		s, err := d.show(ctx, session)
		switch {
		case err != nil:
			return err
		case i == 0:
			first = s
		case !slices.Equal(s.Heads, first.Heads):
			return fmt.Errorf("%s has %d entries, %s %d, and their heads differ%s", peers[0].name, first.Entries, d.name, s.Entries, reasons(s))
		}
		if s.StoredOn < len(peers) {
			return fmt.Errorf("%s counts %d copies of %d%s", d.name, s.StoredOn, len(peers), reasons(s))
		}
	}
	return nil
}

func reasons(s control.SessionShow) string {
	var out strings.Builder
	for _, p := range s.Peers {
		if p.State != control.InSync {
			fmt.Fprintf(&out, "; with %s: %s %s", p.ID[max(0, len(p.ID)-6):], p.State, p.Reason)
		}
	}
	return out.String()
}

// check compares what daemons that have settled show, with each other and with what was acknowledged,
// and lets each check itself from scratch. It returns how many entries there are.
func check(ctx context.Context, peers []*daemon, session string, led *ledger) (int, error) {
	var first view
	for i, d := range peers {
		if err := d.alive(); err != nil {
			return 0, err
		}
		v, err := d.look(ctx, session)
		if err != nil {
			return 0, err
		}
		if i == 0 {
			first = v
		} else if err := same(peers[0], d, first, v); err != nil {
			return 0, err
		}
		if err := d.doctor(ctx); err != nil {
			return 0, err
		}
	}
	return len(first.entries), kept(first, led)
}

func same(p, q *daemon, a, b view) error {
	switch {
	case !slices.Equal(a.show.Heads, b.show.Heads):
		return fmt.Errorf("%s and %s had equal heads and have different ones now, with nobody writing", p.name, q.name)
	case !slices.Equal(active(a.show), active(b.show)):
		return fmt.Errorf("equal heads and different active sets: %s has %v, %s %v", p.name, active(a.show), q.name, active(b.show))
	case !slices.Equal(a.entries, b.entries):
		return fmt.Errorf("%s and %s have equal heads and show different conversations", p.name, q.name)
	}
	return nil
}

// kept checks that everything acknowledged is there, and nothing twice.
func kept(v view, led *ledger) error {
	here, texts := map[string]bool{}, map[string]bool{}
	for _, e := range v.entries {
		here[e.ID] = true
		if texts[e.Content] {
			return fmt.Errorf("%q stands there twice", e.Content)
		}
		texts[e.Content] = true
	}
	ids, by := led.entries()
	var lost []string
	for _, id := range ids {
		if !here[id] {
			lost = append(lost, id+" of "+by[id])
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("%d of %d acknowledged entries are lost: %s", len(lost), len(ids), strings.Join(lost[:min(len(lost), 5)], ", "))
	}
	return nil
}

// doctor lets a daemon build all it has from its stored changes and fold it anew. What it says of a
// clock that nobody could stamp with is no fault of the daemon.
func (d *daemon) doctor(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := control.Call(ctx, d.api(), control.RunDoctor, control.DoctorParams{})
	if err != nil {
		return fmt.Errorf("ask the doctor of %s: %w", d.name, err)
	}
	var errs []error
	for _, c := range r.Checks {
		if !c.OK && c.Name != "clock" {
			errs = append(errs, fmt.Errorf("the doctor of %s: %s: %s", d.name, c.Name, c.Detail))
		}
	}
	return errors.Join(errs...)
}
