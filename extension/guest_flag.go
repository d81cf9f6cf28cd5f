package extension

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ParseGuestCap reads one power as it is typed: net=HOST[:PORT], fs=ID:PATH[:rw], secrets=NAME,
// settings=read|write, session_read=N|all, session_write, kv=SIZE (such as 64KiB), llm=CALLS/TOKENS a day,
// hooks.KIND=observe|modify, memory=read|write, messenger, caps=ID. net, secrets and caps take several,
// joined by commas. Powers are put together with [GuestCaps.Union].
func ParseGuestCap(s string) (GuestCaps, error) {
	var c GuestCaps
	key, value, has := strings.Cut(s, "=")
	err := c.setPower(key, value, has)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return GuestCaps{}, fmt.Errorf("parse capability %.80q: %w", s, err)
	}
	return c.Normal(), nil
}

func (c *GuestCaps) setPower(key, value string, has bool) (err error) {
	if alone := key == "session_write" || key == "messenger"; alone == has {
		if alone {
			return fmt.Errorf("%s takes no value", key)
		}
		return errors.New(`want a power and its value, such as "net=api.example.com"`)
	}
	if kind, ok := strings.CutPrefix(key, "hooks."); ok {
		c.setHook(HookKind(kind), GuestHook(value))
		return nil
	}
	if has && value == "" {
		return fmt.Errorf("%s has no value", key)
	}
	switch key {
	case "net":
		c.Net = strings.Split(strings.ToLower(value), ",")
	case "fs":
		var m GuestMount
		m, err = parseMount(value)
		c.FS = []GuestMount{m}
	case "secrets":
		c.Secrets = strings.Split(value, ",")
	case "settings":
		c.Settings = GuestAccess(value)
	case "session_read":
		c.SessionRead, err = parseEntries(value)
	case "session_write":
		c.SessionWrite = true
	case "kv":
		c.KV, err = parseSize(value)
	case "llm":
		c.LLM, err = parseLLM(value)
	case "memory":
		c.Memory = GuestAccess(value)
	case "messenger":
		c.Messenger = true
	case "caps":
		c.Caps = strings.Split(value, ",")
	default:
		err = fmt.Errorf("unknown power %.40q", key)
	}
	return err
}

func parseMount(s string) (GuestMount, error) {
	id, rest, _ := strings.Cut(s, ":")
	path, mode, has := strings.Cut(rest, ":")
	if has && mode != "rw" && mode != "ro" {
		return GuestMount{}, errors.New(`want ID:PATH, ID:PATH:ro or ID:PATH:rw, such as "notes:/notes:rw"`)
	}
	return GuestMount{ID: id, Path: path, Write: mode == "rw"}, nil
}

func parseEntries(s string) (int, error) {
	if s == "all" {
		return -1, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, errors.New("want a number of messages, or all")
	}
	return n, nil
}

func parseSize(s string) (int64, error) {
	unit := int64(1)
	for _, u := range sizeUnits() {
		if text, ok := strings.CutSuffix(s, u.name); ok {
			s, unit = text, u.size
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/unit {
		return 0, errors.New(`want a size, such as "65536" or "64KiB"`)
	}
	return n * unit, nil
}

func parseLLM(s string) (*GuestLLM, error) {
	calls, tokens, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(calls)
	m, err2 := strconv.ParseInt(tokens, 10, 64)
	if err != nil || err2 != nil {
		return nil, errors.New(`want calls and tokens a day, such as "10/20000"`)
	}
	return &GuestLLM{n, m}, nil
}

// Flags returns the powers as [ParseGuestCap] reads them, one each.
func (c GuestCaps) Flags() []string {
	c = c.Normal()
	var out []string
	say := func(asked bool, key string, value any) {
		if asked {
			out = append(out, key+"="+fmt.Sprint(value))
		}
	}
	for _, p := range c.Net {
		say(true, "net", p)
	}
	for _, m := range c.FS {
		text := m.ID + ":" + m.Path
		if m.Write {
			text += ":rw"
		}
		say(true, "fs", text)
	}
	for _, s := range c.Secrets {
		say(true, "secrets", s)
	}
	say(c.Settings != "", "settings", c.Settings)
	say(c.SessionRead == -1, "session_read", "all")
	say(c.SessionRead > 0, "session_read", c.SessionRead)
	if c.SessionWrite {
		out = append(out, "session_write")
	}
	say(c.KV != 0, "kv", strings.ReplaceAll(sizeFlag(c.KV), " ", ""))
	if c.LLM != nil {
		say(true, "llm", fmt.Sprintf("%d/%d", c.LLM.CallsPerDay, c.LLM.TokensPerDay))
	}
	for _, k := range slices.Sorted(maps.Keys(c.Hooks)) {
		say(true, "hooks."+string(k), c.Hooks[k])
	}
	say(c.Memory != "", "memory", c.Memory)
	if c.Messenger {
		out = append(out, "messenger")
	}
	for _, id := range c.Caps {
		say(true, "caps", id)
	}
	return out
}

func sizeFlag(n int64) string {
	if n%(1<<10) != 0 {
		return strconv.FormatInt(n, 10)
	}
	return sizeWords(n)
}
