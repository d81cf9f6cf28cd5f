package extension

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Words returns one plain sentence for each power, in a fixed order: what leaves this machine first. Two
// sets of powers have the same words only if they give the same.
func (c GuestCaps) Words() []string {
	c = c.Normal()
	var out []string
	say := func(asked bool, format string, args ...any) {
		if asked {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	for _, p := range c.Net {
		say(true, "Can send data to %s and read what it answers.", netWords(p))
	}
	for _, m := range c.FS {
		does := "Can read the files"
		if m.Write {
			does = "Can read, change and delete the files"
		}
		say(true, "%s in the folder of yours that you bind as %q (it sees them below %s).", does, m.ID, m.Path)
	}
	for _, s := range c.Secrets {
		say(true, "Receives your secret %s in plain text.", s)
	}
	say(c.SessionRead == -1, "Can read the whole conversation.")
	say(c.SessionRead > 0, "Can read the newest %s of the conversation.", count(int64(c.SessionRead), "message"))
	say(c.SessionWrite, "Can add messages to the conversation.")
	for _, k := range slices.Sorted(maps.Keys(c.Hooks)) {
		say(true, "%s", hookWords(k, c.Hooks[k]))
	}
	if c.LLM != nil {
		say(true, "Can ask the model up to %s a day and spend up to %s on it.",
			count(int64(c.LLM.CallsPerDay), "time"), count(c.LLM.TokensPerDay, "token"))
	}
	say(c.Memory == GuestRead, "Can search memories and list memory banks.")
	say(c.Memory == GuestWrite, "Can search memories, list memory banks and add memories.")
	say(c.Messenger, "Can send messages through another extension that delivers them.")
	for _, id := range c.Caps {
		say(true, "Can use %s, which another extension provides.", id)
	}
	say(c.Settings == GuestRead, "Can read its own settings in the conversation.")
	say(c.Settings == GuestWrite, "Can read and change its own settings in the conversation.")
	say(c.KV > 0, "Can keep up to %s of its own data on this machine.", sizeWords(c.KV))
	return out
}

// Diff says what c gives that old did not, and what it no longer gives, in the words of Words.
func (c GuestCaps) Diff(old GuestCaps) (added, removed []string) {
	now, then := c.Words(), old.Words()
	missing := func(from []string) func(string) bool {
		return func(s string) bool { return slices.Contains(from, s) }
	}
	return slices.DeleteFunc(slices.Clone(now), missing(then)), slices.DeleteFunc(slices.Clone(then), missing(now))
}

func netWords(pattern string) string {
	parsed, err := parseNet(pattern)
	if err != nil {
		return fmt.Sprintf("%.80q", pattern)
	}
	host := parsed[0].host
	text := host
	if name, wild := strings.CutPrefix(host, "*."); wild {
		text = "every host whose name ends in ." + name
	}
	if nearby(host) {
		text += " (this machine or your own network)"
	}
	if len(parsed) == 1 {
		text += " on port " + strconv.Itoa(int(parsed[0].port))
	}
	return text
}

// nearby reports whether a name means a host that only this machine or its network reaches.
func nearby(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && (a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified())
}

func hookWords(k HookKind, h GuestHook) string {
	change := h == GuestModify
	switch {
	case k == HookToolCall && change:
		return "Sees every tool call before it runs, and can change or stop it."
	case k == HookToolCall:
		return "Sees every tool call with its arguments before it runs."
	case k == HookToolResult && change:
		return "Sees the result of every tool call, and can change or withhold it before the model reads it."
	case k == HookToolResult:
		return "Sees the result of every tool call."
	case k == HookBeforeAgentStart && change:
		return "Can put words of its own before the model at the start of every turn."
	case k == HookBeforeAgentStart:
		return "Is told when a turn of an agent starts."
	}
	return fmt.Sprintf("Has a part in %.40q: %.40q.", string(k), string(h))
}

// count writes a number with its noun and a comma between thousands.
func count(n int64, noun string) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n != 1 {
		noun += "s"
	}
	return digits + " " + noun
}

// sizeWords writes bytes in the largest unit that divides them.
func sizeWords(n int64) string {
	for _, u := range sizeUnits() {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + " " + u.name
		}
	}
	return count(n, "byte")
}

type sizeUnit struct {
	name string
	size int64
}

func sizeUnits() []sizeUnit {
	return []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}
}
