package toolhost

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chaz-peer/chaz-peer/extension"
)

// WriteFile implements [extension.Files]. An existing file keeps its permissions. A symbolic link
// that stays inside is followed, so that the link survives.
func (f files) WriteFile(ctx context.Context, path string, data []byte) (err error) {
	defer func() { err = explain("write", path, err) }()
	if err := ctx.Err(); err != nil {
		return err
	}
	if int64(len(data)) > f.m.cfg.MaxFile {
		return fmt.Errorf("%d bytes are more than the limit of %d: %w", len(data), f.m.cfg.MaxFile, extension.ErrArgument)
	}
	p, err := f.find(path, f.may.writes())
	if err != nil {
		return err
	}
	defer p.root.Close()
	if p.name == "." || absolute(f.m.cfg.WorkFolder, path) == f.m.cfg.WorkFolder {
		return errors.New("it is a folder")
	}
	mode, err := p.follow()
	if err != nil {
		return err
	}
	return p.replace(data, mode)
}

// follow makes p the place that a write must replace and returns the permissions of a file there, 0
// if there is none.
func (p *place) follow() (fs.FileMode, error) {
	const maxLinks = 40
	for range maxLinks {
		info, err := p.root.Lstat(p.name)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if err := regular(info); err != nil {
				return 0, err
			}
			if info.Mode()&0o200 == 0 {
				return 0, fs.ErrPermission // a rename would not ask
			}
			return info.Mode().Perm(), nil
		}
		if err := p.step(); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("too many symbolic links")
}

// step replaces the name of a symbolic link by what it points to. os.Root checks every use of the
// result; that it is the right file is checked here, since "..", behind a link to a folder, means
// another folder than the text suggests.
func (p *place) step() error {
	end, err := p.root.Stat(p.name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errors.New("the symbolic link leads nowhere")
		}
		return err
	}
	to, err := p.root.Readlink(p.name)
	if err != nil {
		return err
	}
	p.name = filepath.Join(filepath.Dir(p.name), to)
	if now, err := p.root.Stat(p.name); err != nil || !os.SameFile(end, now) {
		return errors.New("the symbolic link can't be followed safely")
	}
	return nil
}

// replace writes beside the file and renames, so that a reader sees the old or the new file whole.
func (p place) replace(data []byte, mode fs.FileMode) (err error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(p.name), ".chaz-"+hex.EncodeToString(random[:])+".tmp")
	file, err := p.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errors.New("its folder is not there")
		}
		return err
	}
	defer func() {
		if err != nil {
			_ = p.root.Remove(temp)
		}
	}()
	_, err = file.Write(data)
	if err == nil && mode != 0 {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return p.root.Rename(temp, p.name)
}
