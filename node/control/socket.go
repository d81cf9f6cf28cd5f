package control

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	socketFile = "control.sock"
	// pathFile holds the socket's path when the one in the home would be too long.
	pathFile = "control.path"
	// maxSocketPath is the longest path that every Unix takes for a socket (macOS: 104 with its end).
	maxSocketPath = 103
	probeTime     = 2 * time.Second
)

// socket is a bound Unix socket and what must be removed with it.
type socket struct {
	net.Listener
	path     string
	pathFile string // empty when the socket is in the home
	made     fs.FileInfo
}

// bindSocket binds the control socket of the home with mode 0600, in the home or, if that path is
// too long, in a private folder below runtimeDir. A socket that a dead daemon left is replaced, one
// that answers is refused.
func bindSocket(home, runtimeDir string) (*socket, error) {
	path, err := socketPath(home, runtimeDir)
	if err != nil {
		return nil, err
	}
	if c, err := net.DialTimeout("unix", path, probeTime); err == nil {
		_ = c.Close()
		return nil, &Error{
			Cause: fmt.Sprintf("listen on %s: another daemon answers there", path), Code: CodeConflict,
			Remedy: "stop it first, or choose another --home",
		}
	}
	l, err := listenPrivate(path)
	if err != nil {
		return nil, err
	}
	s := &socket{Listener: l, path: path}
	if s.made, err = os.Lstat(path); err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, err), l.Close())
	}
	record := filepath.Join(home, pathFile)
	if filepath.Dir(path) == filepath.Clean(home) {
		err = os.Remove(record)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		s.pathFile = record
		err = os.WriteFile(record, []byte(path+"\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("record socket path: %w", err), s.remove(), l.Close())
	}
	return s, nil
}

// remove takes the socket's files away, unless another daemon has put its own there.
func (s *socket) remove() error {
	now, err := os.Lstat(s.path)
	if err != nil || !os.SameFile(now, s.made) {
		return nil
	}
	if s.pathFile != "" {
		if err := os.Remove(s.pathFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove socket: %w", err)
		}
	}
	if err := os.Remove(s.path); err != nil {
		return fmt.Errorf("remove socket: %w", err)
	}
	return nil
}

// listenPrivate binds inside a fresh folder that only this user may enter, sets the mode, and moves
// the socket to its place: at no moment can another user connect.
func listenPrivate(path string) (net.Listener, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), "c")
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	defer os.RemoveAll(dir)
	tmp := filepath.Join(dir, "s")
	l, err := net.Listen("unix", tmp)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	if err = os.Chmod(tmp, 0o600); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, err), l.Close())
	}
	return l, nil
}

// socketPath chooses where the socket of a home lies.
func socketPath(home, runtimeDir string) (string, error) {
	home, err := filepath.Abs(home)
	if err != nil {
		return "", fmt.Errorf("find home folder: %w", err)
	}
	if fits(home, socketFile) {
		return filepath.Join(home, socketFile), nil
	}
	sum := sha256.Sum256([]byte(home))
	name := hex.EncodeToString(sum[:8]) + ".sock"
	dirs := []string{filepath.Join("/tmp", "chaz-peer-"+strconv.Itoa(os.Getuid()))}
	if runtimeDir != "" {
		dirs = []string{filepath.Join(runtimeDir, "chaz-peer"), dirs[0]}
	}
	for _, dir := range dirs {
		if !fits(dir, name) {
			continue
		}
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("make socket folder: %w", err)
		}
		if err := checkPrivate(dir); err != nil {
			return "", err
		}
		return filepath.Join(dir, name), nil
	}
	return "", &Error{
		Cause: fmt.Sprintf("the path of the home folder is too long for a socket: %s", home), Code: CodeUsage,
		Remedy: "choose a home folder with a shorter path",
	}
}

// fits reports whether a socket of that name, and the temporary one it is bound as, have short
// enough paths.
func fits(dir, name string) bool {
	const temporary = "c4294967295/s"
	return len(dir)+1+max(len(name), len(temporary)) <= maxSocketPath
}

// checkPrivate refuses a folder that another user owns or may enter: he could put his own socket
// there.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("check socket folder: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return &Error{
			Cause: fmt.Sprintf("the socket folder %s is not private to this user", dir), Code: CodeConflict,
			Remedy: "remove it, or set its owner to you and its mode to 0700",
		}
	}
	return nil
}

// findSocket is where the socket of the home should be, as its daemon recorded it.
func findSocket(home string) (string, error) {
	b, err := os.ReadFile(filepath.Join(home, pathFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		path := filepath.Join(home, socketFile)
		if len(path) > maxSocketPath {
			return "", fmt.Errorf("%w for %s", ErrNoDaemon, home)
		}
		return path, nil
	case err != nil:
		return "", fmt.Errorf("find daemon: %w", err)
	}
	path := strings.TrimSpace(string(b))
	err = checkPrivate(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w for %s", ErrNoDaemon, home)
	}
	return path, err
}
