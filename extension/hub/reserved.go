package hub

import "slices"

// builtinTool reports whether a tool of this name belongs to the extensions that every build has, so
// that no other may take it even where the built-in one is switched off or failed.
func builtinTool(name string) bool {
	return slices.Contains([]string{
		"shell", "compact", "spawn_agent", "spawn_worker",
		"read_file", "write_file", "edit_file",
		"get_time", "calculate", "describe_tool",
		"web_fetch", "web_search",
		"remember", "recall", "list_memory_banks",
		"skill_list", "skill_search", "skill_show",
		"schedule_add", "schedule_modify", "schedule_remove", "schedule_list", "schedule_once",
	}, name)
}

// builtinCommand is the same for slash commands.
func builtinCommand(word string) bool {
	return slices.Contains([]string{"memory", "skills", "schedule"}, word)
}
