package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/node/control"
)

func (d *demo) start(ctx context.Context) (string, error) {
	var err error
	if d.A, err = d.startPeer(ctx, "A", "2h"); err != nil {
		return "", err
	}
	if d.B, err = d.startPeer(ctx, "B", "-72h"); err != nil {
		return "", err
	}
	return fmt.Sprintf("A is %s, B is %s", shortPeer(d.A.id), shortPeer(d.B.id)), nil
}

func (d *demo) importTalk(ctx context.Context) (string, error) {
	r, err := control.CallStream(ctx, d.A.client, control.SessionImport,
		control.SessionImportParams{Name: "hamlet", Format: control.FormatJSONL, Size: int64(len(hamletFile))}, talk(), func(control.Progress) error { return nil })
	if err != nil {
		return "", err
	}
	d.session = r.ID
	s, err := d.A.show(ctx, d.session, "")
	return fmt.Sprintf("%d entries in session %s, %d extensions on", r.Entries, shortDoc(r.ID), len(active(s))), err
}

func (d *demo) join(ctx context.Context) (string, error) {
	t, err := control.Call(ctx, d.A.client, control.SessionShare, control.SessionShareParams{
		Session: d.session, ShareOptions: control.ShareOptions{Role: "admin", Uses: 1, ExpiresMS: 3_600_000},
	})
	if err != nil {
		return "", err
	}
	d.say("  A prints the ticket %s…", t.Ticket[:40])
	if err := joinReady(ctx, d.B, control.SessionJoin, t.Ticket); err != nil {
		return "", err
	}
	s, err := d.agree(ctx, d.A, d.B)
	return fmt.Sprintf("%d entries and the same %d extensions on both", s.Entries, len(active(s))), err
}

func joinReady(ctx context.Context, p *demoPeer, e control.Endpoint[control.JoinParams, control.Joined], ticket string) error {
	j, err := control.Call(ctx, p.client, e, control.JoinParams{Ticket: ticket, WaitMS: demoTime.Milliseconds()})
	if err == nil && j.State != control.StateReady {
		err = fmt.Errorf("join on %s: %s: %s", p.name, j.State, j.Reason)
	}
	return err
}

func (d *demo) shareAgent(ctx context.Context) (string, error) {
	made, err := control.Call(ctx, d.A.client, control.AgentNew, control.AgentNewParams{Name: "scribe"})
	if err != nil {
		return "", err
	}
	d.agent = made.ID
	t, err := control.Call(ctx, d.A.client, control.AgentShare, control.AgentShareParams{
		Agent: d.agent, ShareOptions: control.ShareOptions{Role: "write", Uses: 1, ExpiresMS: 3_600_000},
	})
	if err != nil {
		return "", err
	}
	if err := joinReady(ctx, d.B, control.AgentJoin, t.Ticket); err != nil {
		return "", err
	}
	_, err = control.Call(ctx, d.A.client, control.SessionAttach, control.AttachParams{Session: d.session, Agent: d.agent})
	if err != nil {
		return "", err
	}
	if _, err = d.agree(ctx, d.A, d.B); err != nil {
		return "", err
	}
	return "agent scribe is hosted on A and B and attached to the session", nil
}

func (d *demo) optOut(ctx context.Context) (string, error) {
	if _, err := d.A.slash(ctx, d.session, d.agent, "/extensions remove web agent"); err != nil {
		return "", err
	}
	for {
		list, err := d.B.slash(ctx, d.session, d.agent, "/extensions list")
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(list) {
			if strings.Contains(line, " web ") && strings.Contains(line, "(session: on, agent: off)") {
				return "B shows:" + strings.TrimRight(line, "\n"), nil
			}
		}
		if err := pauseFor(ctx); err != nil {
			return "", errors.New("the opt-out does not show on B")
		}
	}
}

func (d *demo) partition(ctx context.Context) (string, error) {
	for p, other := range map[*demoPeer]*demoPeer{d.A: d.B, d.B: d.A} {
		if _, err := control.Call(ctx, p.client, control.PeersPause, control.PeerParams{Peer: other.id}); err != nil {
			return "", err
		}
	}
	lines := []struct {
		p    *demoPeer
		line string
	}{
		{d.A, "/extensions remove memory"},
		{d.B, "/extensions remove memory"},
		{d.B, "/extensions add memory"},
		{d.B, "/extensions remove memory"},
		{d.B, "/extensions add memory"},
		{d.A, "/extensions set memory auto_recall false"},
		{d.B, "/extensions set memory limit 7"},
	}
	for _, l := range lines {
		if _, err := l.p.slash(ctx, d.session, "", l.line); err != nil {
			return "", err
		}
	}
	for _, p := range []*demoPeer{d.A, d.B} {
		_, err := control.Call(ctx, p.client, control.SessionPost, control.SessionPostParams{Session: d.session, As: p.name, Content: "Written on " + p.name + " while apart."})
		if err != nil {
			return "", err
		}
	}
	a, err := d.onOff(ctx, d.A)
	if err != nil {
		return "", err
	}
	b, err := d.onOff(ctx, d.B)
	if err == nil && a == b {
		err = errors.New("both sides show the same while apart: the partition does not work")
	}
	return fmt.Sprintf("memory is %s on A and %s on B", a, b), err
}

// onOff says what a peer makes of memory in the session.
func (d *demo) onOff(ctx context.Context, p *demoPeer) (string, error) {
	s, err := p.show(ctx, d.session, "")
	if err != nil {
		return "", err
	}
	for _, e := range s.Extensions {
		if e.Name == "memory" && e.SessionActive {
			return "on", nil
		}
	}
	return "off", nil
}

func (d *demo) heal(ctx context.Context) (string, error) {
	for p, other := range map[*demoPeer]*demoPeer{d.A: d.B, d.B: d.A} {
		if _, err := control.Call(ctx, p.client, control.PeersResume, control.PeerParams{Peer: other.id}); err != nil {
			return "", err
		}
	}
	s, err := d.agree(ctx, d.A, d.B)
	if err != nil {
		return "", err
	}
	state, err := d.onOff(ctx, d.A)
	if err != nil {
		return "", err
	}
	story, err := d.A.slash(ctx, d.session, "", "/extensions history memory")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(story) {
		d.say("    %s", cleanText(strings.TrimRight(line, "\n")))
	}
	return fmt.Sprintf("memory is %s on both, %d entries on both", state, s.Entries), nil
}

func (d *demo) late(ctx context.Context) (string, error) {
	var err error
	if d.C, err = d.startPeer(ctx, "C", "0s"); err != nil {
		return "", err
	}
	t, err := control.Call(ctx, d.B.client, control.SessionShare, control.SessionShareParams{
		Session: d.session, ShareOptions: control.ShareOptions{Role: "write", Uses: 1, ExpiresMS: 3_600_000},
	})
	if err != nil {
		return "", err
	}
	if err := joinReady(ctx, d.C, control.SessionJoin, t.Ticket); err != nil {
		return "", err
	}
	_, err = control.Call(ctx, d.A.client, control.SessionPost, control.SessionPostParams{Session: d.session, As: "A", Content: "A and C never met; B carries this over."})
	if err != nil {
		return "", err
	}
	s, err := d.agree(ctx, d.A, d.B, d.C)
	return fmt.Sprintf("%d entries on C, the newest from A by way of B", s.Entries), err
}

func (d *demo) crash(ctx context.Context) (string, error) {
	acked := make(chan string, 1000)
	go func() {
		defer close(acked)
		for i := 0; ; i++ {
			text := fmt.Sprintf("write %d before the crash", i)
			_, err := control.Call(ctx, d.A.client, control.SessionPost, control.SessionPostParams{Session: d.session, As: "A", Content: text})
			if err != nil {
				return
			}
			acked <- text
		}
	}()
	var texts []string
	for text := range acked {
		texts = append(texts, text)
		if len(texts) == 20 {
			d.A.kill()
		}
	}
	if err := d.A.start(ctx); err != nil {
		return "", err
	}
	if _, err := d.agree(ctx, d.A, d.B, d.C); err != nil {
		return "", err
	}
	have := map[string]bool{}
	_, err := control.CallStream(ctx, d.B.client, control.SessionLog, control.SessionLogParams{Session: d.session}, nil, func(e control.Entry) error {
		have[e.Content] = true
		return nil
	})
	if err != nil {
		return "", err
	}
	for _, text := range texts {
		if !have[text] {
			return "", fmt.Errorf("acknowledged and lost: %s", text)
		}
	}
	return fmt.Sprintf("all %d acknowledged writes are on every peer", len(texts)), nil
}

func (d *demo) check(ctx context.Context) (string, error) {
	checks := 0
	for _, p := range []*demoPeer{d.A, d.B, d.C} {
		r, err := control.Call(ctx, p.client, control.RunDoctor, control.DoctorParams{})
		if err != nil {
			return "", err
		}
		for _, c := range r.Checks {
			// The clocks are wrong on purpose.
			if checks++; !c.OK && c.Name != "clock" {
				return "", fmt.Errorf("%s on %s: %s", c.Name, p.name, c.Detail)
			}
		}
	}
	if _, err := d.agree(ctx, d.A, d.B, d.C); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d checks on three peers; every active set equals a fold from scratch", checks), nil
}

// pauseFor waits a moment before another look.
func pauseFor(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}
