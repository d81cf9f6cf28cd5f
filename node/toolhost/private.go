package toolhost

import "path/filepath"

// own reports whether abs is the peer's own (its key, its store, its configuration) and the grant that
// takes it does not mean it: one that lies around the home, such as "/", does not reach into it but
// for the work folder; one that names a folder in the home does.
//
// Symbolic links count as what they lead to at this moment. Against somebody who swaps them meanwhile
// only a sandbox helps.
func (m *Machine) own(grant, abs string) bool {
	if m.cfg.Private == "" {
		return false
	}
	home, work, place := resolve(m.cfg.Private), resolve(m.cfg.WorkFolder), resolve(abs)
	meant := inside(home, resolve(grant)) || inside(home, work) && below(work, place)
	return below(home, place) && !meant
}

// inside is below without the folder itself.
func inside(folder, p string) bool { return p != folder && below(folder, p) }

// resolve follows the symbolic links of as much of a path as there is.
func resolve(p string) string {
	real, err := filepath.EvalSymlinks(p)
	if err == nil {
		return real
	}
	dir := filepath.Dir(p)
	if dir == p {
		return p
	}
	return filepath.Join(resolve(dir), filepath.Base(p))
}
