package toolhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/chaz-peer/chaz-peer/extension"
)

// files implements [extension.Files] below the granted folders.
type files struct{ *doors }

// place is a file below a granted folder. Close the root.
type place struct {
	root *os.Root
	name string // relative to root
}

// ReadFile implements [extension.Files].
func (f files) ReadFile(ctx context.Context, path string, limit int64) (data []byte, more bool, err error) {
	defer func() { err = explain("read", path, err) }()
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	p, err := f.find(path, f.may.reads())
	if err != nil {
		return nil, false, err
	}
	defer p.root.Close()
	file, _, err := p.openRegular()
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	if limit <= 0 || limit > f.m.cfg.MaxFile {
		limit = f.m.cfg.MaxFile
	}
	data, err = io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, false, err
	}
	if int64(len(data)) > limit {
		return data[:limit], true, nil
	}
	return data, false, nil
}

// Stat implements [extension.Files].
func (f files) Stat(ctx context.Context, path string) (info fs.FileInfo, err error) {
	defer func() { err = explain("stat", path, err) }()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := f.find(path, f.may.reads())
	if errors.Is(err, extension.ErrGrant) {
		p, err = f.find(path, f.may.writes())
	}
	if err != nil {
		return nil, err
	}
	defer p.root.Close()
	return p.root.Stat(p.name)
}

// find returns the place of a path below one of the granted paths. A grant counts as it is written
// and as what its symbolic links lead to.
func (f files) find(path string, may fileList) (place, error) {
	if err := checkPath(path); err != nil {
		return place{}, fmt.Errorf("%w: %w", err, extension.ErrArgument)
	}
	abs := absolute(f.m.cfg.WorkFolder, path)
	for _, grant := range may.granted {
		at := abs
		if real, err := filepath.EvalSymlinks(grant); !below(grant, abs) && err == nil && below(real, abs) {
			at = filepath.Join(grant, strings.TrimPrefix(abs, real))
		}
		if below(grant, at) && !f.m.own(grant, at) {
			return may.open(grant, at)
		}
	}
	return place{}, extension.ErrGrant
}

// fileList is a list of granted paths and the operator's, in which they lie.
type fileList struct{ granted, roots []string }

func (e Effective) reads() fileList  { return fileList{e.FS.AllowRead, e.readRoots} }
func (e Effective) writes() fileList { return fileList{e.FS.AllowWrite, e.writeRoots} }

// open opens the place of abs, which lies in grant. The way goes from the operator's folder through
// os.Root: a symbolic link below that folder, put there by whoever may write in it, must not turn a
// narrower grant into a wider one.
func (l fileList) open(grant, abs string) (place, error) {
	at := slices.IndexFunc(l.roots, func(r string) bool { return below(r, grant) })
	if at < 0 {
		return place{}, extension.ErrGrant
	}
	base := l.roots[at]
	if info, err := os.Stat(base); base == abs && (err != nil || !info.IsDir()) {
		base = filepath.Dir(base) // the operator granted a single file
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return place{}, err
	}
	folder := grant
	if grant == abs && grant != base {
		if info, err := root.Stat(rel(base, grant)); err != nil || !info.IsDir() {
			folder = filepath.Dir(grant)
		}
	}
	if folder != base {
		inner, err := root.OpenRoot(rel(base, folder))
		root.Close()
		if err != nil {
			return place{}, err
		}
		root = inner
	}
	return place{root, rel(folder, abs)}, nil
}

// rel is the way from a folder to a path in it.
func rel(folder, p string) string {
	r := strings.TrimPrefix(strings.TrimPrefix(p, folder), string(filepath.Separator))
	if r == "" {
		return "."
	}
	return r
}

// errSpecial: neither a file nor a folder. Reading a pipe or a device can block or do things.
var errSpecial = errors.New("not a regular file")

// openRegular opens an existing regular file for reading. The type is checked before, since opening
// a device can have effects, and again on what was opened.
func (p place) openRegular() (*os.File, fs.FileInfo, error) {
	info, err := p.root.Stat(p.name)
	if err != nil {
		return nil, nil, err
	}
	if err := regular(info); err != nil {
		return nil, nil, err
	}
	file, err := p.root.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil {
		err = regular(info)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return errSpecial
	}
	return nil
}

// explain names operation and path, and counts a symbolic link that leads out as not granted.
func explain(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && !errors.Is(err, extension.ErrGrant) {
		err = pe.Err // it would name the path a second time
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		err = le.Err
	}
	// The os package does not export this error.
	if strings.HasSuffix(err.Error(), "path escapes from parent") {
		err = fmt.Errorf("a symbolic link leads out: %w", extension.ErrGrant)
	}
	return fmt.Errorf("%s %.500s: %w", op, path, err)
}
