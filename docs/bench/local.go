package main

import (
	"context"
	"runtime"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
)

// lastChange is the newest change of the session, as it is stored.
func (s *session) lastChange(ctx context.Context) (crdt.SignedChange, error) {
	have, err := s.a.repo.Vector(ctx, s.doc)
	if err != nil {
		return crdt.SignedChange{}, err
	}
	for a, t := range have {
		have[a] = crdt.Tip{Seq: t.Seq - 1}
	}
	page, _, _, err := s.a.repo.Page(ctx, s.doc, have, nil, 1)
	if err != nil || len(page) == 0 {
		return crdt.SignedChange{}, err
	}
	return page[0], nil
}

// localWrites times a write against a raw put, in turn.
func (s *session) localWrites(ctx context.Context) (p pairs, err error) {
	runtime.GC()
	for range s.opt.writes {
		t0 := time.Now()
		if _, _, err := s.a.write(ctx, s.doc); err != nil {
			return p, err
		}
		t1 := time.Now()
		if err := s.rawA.put(ctx); err != nil {
			return p, err
		}
		p.addTimes(t1.Sub(t0), time.Since(t1))
	}
	return p, nil
}

// queries times looking up whether a name is on, in the fold and through the repo, against a map
// that holds nothing but the answers.
func (s *session) queries(ctx context.Context) (fold, view pairs, err error) {
	const batch, rounds = 20_000, 100
	var asked [extensions]string
	plain := map[string]bool{}
	for i := range asked {
		asked[i] = nameOf(i)
		plain[asked[i]] = i%3 != 0
	}
	on := 0
	count := func(active bool) {
		if active {
			on++
		}
	}
	each := func(fn func(name string)) float64 {
		t0 := time.Now()
		for i := range batch {
			fn(asked[i%extensions])
		}
		return float64(time.Since(t0)) / batch
	}
	for range rounds {
		base := each(func(name string) { count(plain[name]) })
		err := s.a.repo.View(ctx, s.doc, func(v *crdt.View) error {
			log, err := logOf(v)
			if err == nil {
				fold.add(each(func(name string) { count(log.Active(name)) }), base)
			}
			return err
		})
		if err != nil {
			return fold, view, err
		}
		view.add(each(func(name string) {
			err = s.a.repo.View(ctx, s.doc, func(v *crdt.View) error {
				log, err := logOf(v)
				if err == nil {
					count(log.Active(name))
				}
				return err
			})
		}), base)
		if err != nil {
			return fold, view, err
		}
	}
	runtime.KeepAlive(on)
	return fold, view, nil
}
