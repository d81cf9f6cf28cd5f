package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension/activation"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// doctor looks at everything that can be wrong without anybody else's help.
func (n *Node) doctor(ctx context.Context, _ control.DoctorParams) (control.Doctor, error) {
	out := control.Doctor{OK: true}
	add := func(name string, err error, detail, remedy string) {
		c := control.Check{Name: name, OK: err == nil, Detail: detail}
		if err != nil {
			c.Detail, c.Remedy, out.OK = err.Error(), remedy, false
		}
		out.Checks = append(out.Checks, c)
	}
	detail, err := n.checkKeyFile()
	add("key", err, detail, "chmod 600 the key file and 700 the home")
	detail, err = n.checkClock()
	add("clock", err, detail, "set the machine's clock; documents converge anyway, stamps look odd")
	detail, err = n.checkStore(ctx)
	add("store", err, detail, "free some space on the disk that holds the home")
	if n.cfg.Security.Sandbox != "" {
		add("sandbox", n.machine.CheckSandbox(ctx), "commands run in "+n.cfg.Security.Sandbox, "install bubblewrap, or switch shell_sandbox off")
	}
	for _, s := range n.repo.List() {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		detail, err := n.checkDocument(ctx, s)
		add(fmt.Sprintf("%s %s", s.Kind, s.ID.Short()), err, detail, "stop the daemon, keep a copy of the home, and forget the document: other peers bring it back")
	}
	detail, err = n.checkNetwork()
	add("network", err, detail, "run the daemon; open the port it listens on; see `chaz-peer status`")
	return out, nil
}

func (n *Node) checkKeyFile() (string, error) {
	for path, want := range map[string]os.FileMode{keyFile: 0o600, ".": 0o700} {
		fi, err := os.Stat(filepath.Join(n.cfg.Home, path))
		if err != nil {
			return "", err
		}
		if fi.Mode().Perm()&^want != 0 {
			return "", fmt.Errorf("%s has mode %o: others can read it", filepath.Join(n.cfg.Home, path), fi.Mode().Perm())
		}
	}
	return "only you can read the key", nil
}

// checkClock faults a clock that can't be stamped with. One that merely differs from the peers' is
// worth a word and no fault: documents converge whatever the clocks say.
func (n *Node) checkClock() (string, error) {
	now := n.clock.Now()
	if now.UnixMilli() != crdt.NowMillis(n.clock) {
		return "", fmt.Errorf("the clock shows the year %d; it is read as the nearest of 1970 and 9999", now.Year())
	}
	detail := now.UTC().Format(time.RFC3339)
	if n.cfg.Skew != 0 {
		detail += fmt.Sprintf(", skewed by %s on demand", n.cfg.Skew)
	}
	if on := n.getOnline(); on != nil {
		if off, count := on.medianOffset(); count > 0 && abs(off) > skewWarning {
			detail += fmt.Sprintf("; warning: the peers' clocks are %s %s this one's (median of %d): stamps look odd, documents agree anyway", span(abs(off)), ahead(off), count)
		}
	}
	return detail, nil
}

func (n *Node) checkStore(ctx context.Context) (string, error) {
	probe := crdt.NewTable[int64](n.home.store, "probe")
	if err := probe.Put(ctx, "doctor", crdt.NowMillis(n.clock)); err != nil {
		return "", err
	}
	size, err := n.home.store.DiskSize()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("writes are durable; %.1f MB on disk, %d documents", float64(size)/1e6, len(n.repo.List())), nil
}

// checkDocument builds the document from its stored changes, in the core and in the view, compares
// the heads, and folds the activation log from scratch.
func (n *Node) checkDocument(ctx context.Context, s crdt.Summary) (string, error) {
	heads, err := n.repo.Rebuild(ctx, s.ID)
	if err != nil {
		return "", err
	}
	detail := fmt.Sprintf("heads: %d, equal in the core and in the view", len(heads))
	if s.Kind != crdt.Session && s.Kind != crdt.Agent {
		return detail, nil
	}
	err = n.repo.View(ctx, s.ID, func(v *crdt.View) error {
		log, err := activationLog(v)
		if err != nil {
			return err
		}
		if !log.State().Equal(activation.FoldRows(v.Rows(activation.Store))) {
			return fmt.Errorf("the active set kept in memory differs from a fold of the whole log")
		}
		detail += fmt.Sprintf("; %d activation events fold to the set in use", log.Events())
		return nil
	})
	return detail, err
}

func (n *Node) checkNetwork() (string, error) {
	on := n.getOnline()
	if on == nil {
		return "no daemon runs: not checked", nil
	}
	connected, wanted := 0, 0
	for _, p := range on.net.Peers() {
		if p.Wanted {
			wanted++
		}
		if p.Connected {
			connected++
		}
	}
	detail := fmt.Sprintf("listening on %d addresses; %d of %d wanted peers connected", len(on.net.Addrs()), connected, wanted)
	if err := on.net.MDNSError(); err != nil {
		detail += "; peers on the local network are not found: " + err.Error()
	}
	return detail, nil
}

// span prints a duration of ms as a person would say it.
func span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	case d >= 2*time.Minute:
		return d.Round(time.Minute).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
