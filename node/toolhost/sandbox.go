package toolhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// argv is the process that runs a command line: sh, or sh inside the sandbox.
func (d *doors) argv(line, dir string) ([]string, error) {
	sh := []string{"/bin/sh", "-c", line}
	if d.m.cfg.Sandbox == NoSandbox {
		return sh, nil
	}
	bwrap, err := exec.LookPath(Bubblewrap)
	if err != nil {
		return nil, fmt.Errorf("the configured sandbox is missing: %w", err)
	}
	args := append([]string{bwrap}, d.sandbox(dir)...)
	return append(append(args, "--"), sh...), nil
}

// sandbox returns the options of bubblewrap: the system read-only, the granted files, nothing of the
// network, no other processes, no privileges, no terminal; everything ends with the daemon. Ports and
// addresses can't be told apart inside, so only who may reach everything gets the network.
//
// A command that a signal ended has exit code 128 and the signal's number there, not -1.
func (d *doors) sandbox(dir string) []string {
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"}
	if d.wholeNetwork() {
		args = append(args, "--share-net")
	}
	args = append(args, system()...)
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
	if d.wholeNetwork() {
		args = append(args, "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf", "--ro-bind-try", "/etc/hosts", "/etc/hosts")
	}
	// A command starts in a folder of the work folder even where no file of it is granted.
	args = append(args, "--dir", dir)
	args = append(args, d.binds()...)
	return append(args, "--setenv", "HOME", dir, "--setenv", "TMPDIR", "/tmp", "--chdir", dir)
}

func (d *doors) wholeNetwork() bool {
	return *d.may.Network.AllowPrivate && (d.may.Network.Endpoints == nil || slices.ContainsFunc(d.may.Network.Endpoints,
		func(e Endpoint) bool { return e.Host == "*" && e.PathPrefix == "" && e.Methods == nil }))
}

// system binds programs and libraries, and of /etc only what they need to start.
func system() []string {
	args := []string{"--ro-bind", "/usr", "/usr"}
	for _, p := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64"} {
		info, err := os.Lstat(p)
		switch {
		case err != nil:
		case info.Mode()&fs.ModeSymlink == 0:
			args = append(args, "--ro-bind", p, p)
		default:
			if to, err := os.Readlink(p); err == nil {
				args = append(args, "--symlink", to, p)
			}
		}
	}
	for _, p := range []string{
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
		"/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/ssl", "/etc/ca-certificates", "/etc/pki",
	} {
		args = append(args, "--ro-bind-try", p, p)
	}
	return args
}

// binds shows the granted paths under their own names and as what their symbolic links lead to, as
// far as that lies in what the operator granted. What may be written but not read can't be shown.
// Shorter paths come first, or they would hide longer ones.
func (d *doors) binds() []string {
	type bind struct{ how, path, source string }
	var binds []bind
	add := func(how string, paths []string, roots ...[]string) {
		for _, p := range paths {
			source, ok := realIn(p, roots)
			if !ok {
				continue
			}
			binds = append(binds, bind{how, p, source})
			if source != p {
				binds = append(binds, bind{how, source, source})
			}
		}
	}
	add("--ro-bind", d.may.FS.AllowRead, d.may.readRoots)
	add("--bind", meet(d.may.FS.AllowRead, d.may.FS.AllowWrite, meetPaths), d.may.readRoots, d.may.writeRoots)
	slices.SortStableFunc(binds, func(a, b bind) int { return strings.Compare(a.path, b.path) })
	var args []string
	for _, b := range binds {
		args = append(args, b.how, b.source, b.path)
	}
	return args
}

// realIn resolves the symbolic links of a granted path; not ok if it is not there or a link leads out
// of the operator's folder in which the path lies.
func realIn(p string, roots [][]string) (string, bool) {
	source, err := filepath.EvalSymlinks(p)
	if err != nil {
		return "", false
	}
	for _, list := range roots {
		inside := slices.ContainsFunc(list, func(r string) bool {
			root, err := filepath.EvalSymlinks(r)
			return err == nil && below(r, p) && below(root, source)
		})
		if !inside {
			return "", false
		}
	}
	return source, true
}

// CheckSandbox runs a harmless command in the sandbox, so that a machine where it can't work says so
// at the start and not at the first command. Nil without a sandbox.
func (m *Machine) CheckSandbox(ctx context.Context) error {
	if m.cfg.Sandbox == NoSandbox {
		return nil
	}
	bwrap, err := exec.LookPath(Bubblewrap)
	if err != nil {
		return fmt.Errorf("check sandbox: %w", err)
	}
	args := append([]string{"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"}, system()...)
	out, err := exec.CommandContext(ctx, bwrap, append(args, "--proc", "/proc", "--dev", "/dev", "--", "/bin/sh", "-c", "exit 0")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("check sandbox: %w", errors.Join(err, errors.New(strings.TrimSpace(string(out)))))
	}
	return nil
}
