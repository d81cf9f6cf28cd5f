package crdt

import "fmt"

// Role is what a peer may do in one document. Each role includes the ones below it.
type Role uint8

// The roles, weakest first. Owner is held only by the keys that the genesis names.
const (
	NoRole Role = iota
	Read
	Write
	Admin
	Owner
)

var roleNames = [...]string{"none", "read", "write", "admin", "owner"}

func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// ParseRole reads a role that can be granted: read, write or admin.
func ParseRole(s string) (Role, error) {
	for r := Read; r <= Admin; r++ {
		if roleNames[r] == s {
			return r, nil
		}
	}
	return NoRole, fmt.Errorf("parse role %q: want read, write or admin", clip(s))
}

// Needs is the weakest role that may write to the store.
func (s StoreSpec) Needs() Role {
	if s.AdminOnly {
		return Admin
	}
	return Write
}
