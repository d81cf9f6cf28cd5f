package extension

import (
	"cmp"
	"slices"
)

// Intersect returns the powers that both c and o give.
func (c GuestCaps) Intersect(o GuestCaps) GuestCaps {
	out := GuestCaps{
		Net:          netPatterns(netIntersect(netOf(c.Net), netOf(o.Net))),
		Secrets:      common(c.Secrets, o.Secrets),
		Settings:     c.Settings.min(o.Settings),
		SessionRead:  fewer(c.SessionRead, o.SessionRead),
		SessionWrite: c.SessionWrite && o.SessionWrite,
		KV:           min(c.KV, o.KV),
		Memory:       c.Memory.min(o.Memory),
		Messenger:    c.Messenger && o.Messenger,
		Caps:         common(c.Caps, o.Caps),
	}
	for _, m := range c.FS {
		for _, n := range o.FS {
			if m.ID == n.ID && m.Path == n.Path {
				out.FS = append(out.FS, GuestMount{m.ID, m.Path, m.Write && n.Write})
			}
		}
	}
	slices.SortFunc(out.FS, GuestMount.compare)
	if c.LLM != nil && o.LLM != nil {
		out.LLM = &GuestLLM{min(c.LLM.CallsPerDay, o.LLM.CallsPerDay), min(c.LLM.TokensPerDay, o.LLM.TokensPerDay)}
	}
	for k, h := range c.Hooks {
		if g, both := o.Hooks[k]; both {
			if g == GuestObserve {
				h = g
			}
			out.setHook(k, h)
		}
	}
	return out
}

// Union returns the powers that c or o gives. Two folders of one id or path stay two, which Validate
// refuses.
func (c GuestCaps) Union(o GuestCaps) GuestCaps {
	out := GuestCaps{
		Net:          netPatterns(append(netOf(c.Net), netOf(o.Net)...)),
		Secrets:      both(c.Secrets, o.Secrets),
		Settings:     c.Settings.max(o.Settings),
		SessionRead:  max(c.SessionRead, o.SessionRead),
		SessionWrite: c.SessionWrite || o.SessionWrite,
		KV:           max(c.KV, o.KV),
		Memory:       c.Memory.max(o.Memory),
		Messenger:    c.Messenger || o.Messenger,
		Caps:         both(c.Caps, o.Caps),
	}
	if c.SessionRead == -1 || o.SessionRead == -1 {
		out.SessionRead = -1
	}
	for _, m := range slices.Concat(c.FS, o.FS) {
		same := func(n GuestMount) bool { return n.ID == m.ID && n.Path == m.Path }
		if i := slices.IndexFunc(out.FS, same); i >= 0 {
			out.FS[i].Write = out.FS[i].Write || m.Write
		} else {
			out.FS = append(out.FS, m)
		}
	}
	slices.SortFunc(out.FS, GuestMount.compare)
	for _, l := range []*GuestLLM{c.LLM, o.LLM} {
		if l != nil && out.LLM != nil {
			out.LLM = &GuestLLM{max(l.CallsPerDay, out.LLM.CallsPerDay), max(l.TokensPerDay, out.LLM.TokensPerDay)}
		} else if l != nil {
			out.LLM = &GuestLLM{l.CallsPerDay, l.TokensPerDay}
		}
	}
	for _, hooks := range []map[HookKind]GuestHook{c.Hooks, o.Hooks} {
		for k, h := range hooks {
			if out.Hooks[k] != GuestModify {
				out.setHook(k, h)
			}
		}
	}
	return out
}

// Normal returns the same powers in their one form: lists sorted, nothing twice or implied.
func (c GuestCaps) Normal() GuestCaps { return c.Union(GuestCaps{}) }

// Subset reports whether of gives every power of c.
func (c GuestCaps) Subset(of GuestCaps) bool {
	if !netCovers(netOf(of.Net), netOf(c.Net)) || !within(c.Secrets, of.Secrets) || !within(c.Caps, of.Caps) ||
		c.Settings.min(of.Settings) != c.Settings || c.Memory.min(of.Memory) != c.Memory ||
		fewer(c.SessionRead, of.SessionRead) != c.SessionRead || c.KV > of.KV ||
		c.SessionWrite && !of.SessionWrite || c.Messenger && !of.Messenger {
		return false
	}
	for _, m := range c.FS {
		if !slices.Contains(of.FS, m) && !slices.Contains(of.FS, GuestMount{m.ID, m.Path, true}) {
			return false
		}
	}
	if c.LLM != nil && (of.LLM == nil || c.LLM.CallsPerDay > of.LLM.CallsPerDay || c.LLM.TokensPerDay > of.LLM.TokensPerDay) {
		return false
	}
	for k, h := range c.Hooks {
		if g := of.Hooks[k]; g != h && g != GuestModify {
			return false
		}
	}
	return true
}

func (c *GuestCaps) setHook(k HookKind, h GuestHook) {
	if c.Hooks == nil {
		c.Hooks = map[HookKind]GuestHook{}
	}
	c.Hooks[k] = h
}

func (m GuestMount) compare(o GuestMount) int {
	return cmp.Or(cmp.Compare(m.ID, o.ID), cmp.Compare(m.Path, o.Path))
}

func (a GuestAccess) max(b GuestAccess) GuestAccess {
	if a == GuestWrite || b == "" {
		return a
	}
	return b
}

// fewer is the smaller of two numbers of entries, of which -1 is all.
func fewer(a, b int) int {
	if a == -1 {
		return b
	}
	if b == -1 {
		return a
	}
	return min(a, b)
}

func common(a, b []string) []string {
	return sortedSet(slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) }))
}

func both(a, b []string) []string { return sortedSet(slices.Concat(a, b)) }

func sortedSet(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func within(list, of []string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(of, s) })
}
