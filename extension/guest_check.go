package extension

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Bounds of what one extension may ask for.
const (
	maxGuestHosts   = 64
	maxGuestMounts  = 16
	maxGuestNames   = 32 // of secrets, and of typed capabilities
	maxGuestKV      = 1 << 30
	maxGuestCalls   = 1_000_000
	maxGuestTokens  = 1_000_000_000
	maxGuestHistory = 1_000_000
)

// IsZero reports whether these are no powers at all.
func (c GuestCaps) IsZero() bool {
	return len(c.Net) == 0 && len(c.FS) == 0 && len(c.Secrets) == 0 && c.Settings == "" && c.SessionRead == 0 &&
		!c.SessionWrite && c.KV == 0 && c.LLM == nil && len(c.Hooks) == 0 && c.Memory == "" && !c.Messenger && len(c.Caps) == 0
}

// Clone returns a copy that shares nothing.
func (c GuestCaps) Clone() GuestCaps {
	c.Net, c.FS, c.Secrets, c.Caps = slices.Clone(c.Net), slices.Clone(c.FS), slices.Clone(c.Secrets), slices.Clone(c.Caps)
	c.Hooks = maps.Clone(c.Hooks)
	if c.LLM != nil {
		llm := *c.LLM
		c.LLM = &llm
	}
	return c
}

// Validate returns the first fault: a malformed host, folder, name or number, or something twice.
func (c GuestCaps) Validate() error {
	for _, check := range []func() error{c.checkNet, c.checkFS, c.checkNames, c.checkNumbers, c.checkHooks} {
		if err := check(); err != nil {
			return fmt.Errorf("check capabilities: %w", err)
		}
	}
	return nil
}

func (c GuestCaps) checkNet() error {
	if len(c.Net) > maxGuestHosts {
		return fmt.Errorf("net: %d hosts are more than %d", len(c.Net), maxGuestHosts)
	}
	for _, p := range c.Net {
		if _, err := parseNet(p); err != nil {
			return fmt.Errorf("net: %w", err)
		}
	}
	return once("net", c.Net)
}

func (c GuestCaps) checkFS() error {
	if len(c.FS) > maxGuestMounts {
		return fmt.Errorf("fs: %d folders are more than %d", len(c.FS), maxGuestMounts)
	}
	var ids, paths []string
	for _, m := range c.FS {
		switch {
		case !ValidName(m.ID):
			return fmt.Errorf("fs: the id %.80q must be a-z, 0-9, _ and -, at most 64 characters", m.ID)
		case !strings.HasPrefix(m.Path, "/") || path.Clean(m.Path) != m.Path || m.Path == "/" || len(m.Path) > 128 || !printable(m.Path):
			return fmt.Errorf(`fs: the path %.80q of %s must be absolute and plain, such as "/notes"`, m.Path, m.ID)
		case strings.ContainsAny(m.Path, `\:,`):
			return fmt.Errorf(`fs: the path %.80q of %s must not hold "\", ":" or ","`, m.Path, m.ID)
		}
		ids, paths = append(ids, m.ID), append(paths, m.Path)
	}
	if err := once("fs: the id", ids); err != nil {
		return err
	}
	return once("fs: the path", paths)
}

func (c GuestCaps) checkNames() error {
	if len(c.Secrets) > maxGuestNames || len(c.Caps) > maxGuestNames {
		return fmt.Errorf("at most %d secrets and as many caps can be named", maxGuestNames)
	}
	for _, s := range c.Secrets {
		if s == "" || len(s) > MaxName || strings.ContainsFunc(s, notWord) {
			return fmt.Errorf("secrets: the name %.80q must be letters, digits, _, - and ., at most %d characters", s, MaxName)
		}
	}
	for _, id := range c.Caps {
		if !ValidCapID(id) {
			return fmt.Errorf(`caps: %.80q has not the form "acme/translate"`, id)
		}
	}
	if err := once("secrets", c.Secrets); err != nil {
		return err
	}
	return once("caps", c.Caps)
}

func (c GuestCaps) checkNumbers() error {
	switch {
	case !c.Settings.valid():
		return fmt.Errorf("settings: %.40q is neither read nor write", string(c.Settings))
	case !c.Memory.valid():
		return fmt.Errorf("memory: %.40q is neither read nor write", string(c.Memory))
	case c.SessionRead < -1 || c.SessionRead > maxGuestHistory:
		return fmt.Errorf("session_read: want -1 for all or a number up to %d", maxGuestHistory)
	case c.KV < 0 || c.KV > maxGuestKV:
		return fmt.Errorf("kv: want a number of bytes up to %d", maxGuestKV)
	case c.LLM == nil:
		return nil
	case c.LLM.CallsPerDay < 1 || c.LLM.CallsPerDay > maxGuestCalls:
		return fmt.Errorf("llm: calls_per_day must be 1 to %d", maxGuestCalls)
	case c.LLM.TokensPerDay < 1 || c.LLM.TokensPerDay > maxGuestTokens:
		return fmt.Errorf("llm: tokens_per_day must be 1 to %d", maxGuestTokens)
	}
	return nil
}

func (c GuestCaps) checkHooks() error {
	for _, k := range slices.Sorted(maps.Keys(c.Hooks)) {
		if !k.GuestPower() {
			return fmt.Errorf("hooks: %.40q is none of before_agent_start, tool_call and tool_result", string(k))
		}
		if h := c.Hooks[k]; h != GuestObserve && h != GuestModify {
			return fmt.Errorf("hooks: %s: %.40q is neither observe nor modify", k, string(h))
		}
	}
	return nil
}

// GuestPower reports whether a guest needs a capability for hooks of the kind: it sees or changes what
// passes between agent, model and tools.
func (k HookKind) GuestPower() bool {
	return k == HookBeforeAgentStart || k == HookToolCall || k == HookToolResult
}

// ValidCapID reports whether id has the form of a typed capability: two names joined by a slash.
func ValidCapID(id string) bool {
	owner, name, ok := strings.Cut(id, "/")
	return ok && ValidName(owner) && ValidName(name)
}

func (a GuestAccess) valid() bool { return a == "" || a == GuestRead || a == GuestWrite }

func (a GuestAccess) min(b GuestAccess) GuestAccess {
	switch {
	case a == "" || b == "":
		return ""
	case a == GuestWrite:
		return b
	}
	return a
}

// Within returns the limits of l cut to those of o: of each field the smaller; zero sets none.
func (l GuestLimits) Within(o GuestLimits) GuestLimits {
	smaller := func(a, b int64) int64 {
		if a <= 0 || b > 0 && b < a {
			return max(b, 0)
		}
		return a
	}
	return GuestLimits{
		MemoryBytes: smaller(l.MemoryBytes, o.MemoryBytes), FuelPerCall: smaller(l.FuelPerCall, o.FuelPerCall),
		DeadlineMS: smaller(l.DeadlineMS, o.DeadlineMS), OutputBytes: smaller(l.OutputBytes, o.OutputBytes),
	}
}

// The largest limits that can be asked for or granted.
const (
	maxGuestMemory   = 4 << 30
	minGuestMemory   = 64 << 10 // a page
	maxGuestFuel     = 1 << 50
	maxGuestDeadline = 600_000
	maxGuestOutput   = 64 << 20
)

// Validate returns the first limit that makes no sense.
func (l GuestLimits) Validate() error {
	switch {
	case l.MemoryBytes != 0 && (l.MemoryBytes < minGuestMemory || l.MemoryBytes > maxGuestMemory):
		return fmt.Errorf("check limits: memory_bytes must be %d to %d", minGuestMemory, int64(maxGuestMemory))
	case l.FuelPerCall < 0 || l.FuelPerCall > maxGuestFuel:
		return errors.New("check limits: fuel_per_call must be positive and below 2^50")
	case l.DeadlineMS < 0 || l.DeadlineMS > maxGuestDeadline:
		return fmt.Errorf("check limits: deadline_ms must be at most %d", maxGuestDeadline)
	case l.OutputBytes < 0 || l.OutputBytes > maxGuestOutput:
		return fmt.Errorf("check limits: output_bytes must be at most %d", maxGuestOutput)
	}
	return nil
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func notWord(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.'
}

func once(what string, list []string) error {
	if s, twice := duplicate(list, func(a, b string) bool { return a == b }); twice {
		return fmt.Errorf("%s %.80q stands twice", what, s)
	}
	return nil
}
