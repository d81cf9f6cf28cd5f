package engine

import "sync"

// vars are the variables of a pool (var_get, var_set). They outlive instances and are shared by those
// that run at the same time.
type vars struct {
	limit int64

	mu   sync.Mutex
	m    map[string][]byte
	size int64
}

// varCost is what a variable takes of the limit beside its name and its bytes.
const varCost = 32

// get is a copy-free look: values are never changed, only replaced.
func (v *vars) get(name string) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.m[name]
}

// set keeps value from now on, or forgets the variable where keep is false. It reports false, and
// changes nothing, if there is no room.
func (v *vars) set(name string, value []byte, keep bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	size := v.size
	if old, ok := v.m[name]; ok {
		size -= int64(len(name)+len(old)) + varCost
	}
	if !keep {
		delete(v.m, name)
		v.size = size
		return true
	}
	size += int64(len(name)+len(value)) + varCost
	if size > v.limit {
		return false
	}
	if v.m == nil {
		v.m = map[string][]byte{}
	}
	v.m[name], v.size = value, size
	return true
}
