package extension

import "strings"

// MaxName is the longest name of an extension, in characters.
const MaxName = 64

// ValidName reports whether a name has the form of an extension's name: a lower-case letter or
// digit, then at most 63 of these, "_" and "-".
func ValidName(name string) bool {
	if name == "" || len(name) > MaxName {
		return false
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case (c == '_' || c == '-') && i > 0:
		default:
			return false
		}
	}
	return true
}

// ReservedName reports whether only code that is compiled in may bear the name: the ten built-ins,
// MCP servers ("mcp-…"), and whatever is built in later ("chaz-…"). The answer is part of the log
// format and not of this build: peers of all versions must fold a log alike, so it never changes.
func ReservedName(name string) bool {
	switch name {
	case "core", "path_normalizer", "security_warnings", "fs", "system",
		"web", "memory", "schedule", "skills", "agent_schedule":
		return true
	}
	return strings.HasPrefix(name, "mcp-") || strings.HasPrefix(name, "chaz-")
}

// ReservedCommand reports whether a slash command of this name (without the slash, case-sensitive)
// belongs to the host, so that no extension may register it.
func ReservedCommand(name string) bool {
	switch name {
	case "quit", "exit", "q", "sessions", "s", "share", "unshare", "compact", "schedules", "info",
		"costs", "print", "backends", "new", "name", "rename", "role", "model", "channels", "agents",
		"pubkey", "help", "?", "agent", "extensions", "sharing", "sync", "use", "switch":
		return true
	// What the shared grammar or a front end matches before it asks extensions.
	case "groups", "join", "backend", "models", "settings", "clear", "raw", "debug", "expand":
		return true
	}
	return false
}
