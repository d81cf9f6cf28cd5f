package builtins_test

// toolNames returns the names of the tools of all built-in extensions. No other extension may take
// one, whether the built-in one is switched on or not, so the list is part of the contract with
// authors and grows only.
func toolNames() []string {
	return []string{
		"shell", "compact", "spawn_agent", "spawn_worker",
		"read_file", "write_file", "edit_file",
		"get_time", "calculate", "describe_tool",
		"web_fetch", "web_search",
		"remember", "recall", "list_memory_banks",
		"schedule_add", "schedule_modify", "schedule_remove", "schedule_list", "schedule_once",
		"skill_list", "skill_search", "skill_show",
	}
}

// commandNames is the same for slash commands, without the slash.
func commandNames() []string { return []string{"memory", "schedule", "skills"} }
