package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

const spawnTimeout = 300 * time.Second

// errNoTurns: the tool works on turns of agents, and this version runs none.
var errNoTurns = errors.New("this version does not run turns of agents")

func compactTool() extension.Tool {
	return extension.Tool{
		Name:        "compact",
		Description: "Write a summary of the conversation so far; later turns start from it.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"summary": {"type": "string", "description": "The summary."}
			},
			"required": ["summary"],
			"additionalProperties": false
		}`),
		Run: extension.Typed(compact),
	}
}

type compactArgs struct {
	Summary string `json:"summary"`
}

func compact(_ context.Context, _ extension.Call, a compactArgs) (string, error) {
	if strings.TrimSpace(a.Summary) == "" {
		return "", fmt.Errorf("compact: the summary is blank: %w", extension.ErrArgument)
	}
	return "", fmt.Errorf("compact: %w, so no context would start from the summary; nothing was written", errNoTurns)
}

func spawnPolicy() extension.Policy {
	return extension.Policy{Risk: extension.MediumRisk, Approval: extension.AskUnlessAutomatic, Timeout: spawnTimeout}
}

func spawnAgentTool() extension.Tool {
	return extension.Tool{
		Name:        "spawn_agent",
		Description: "Give another agent a task in a session of its own and return its answer.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"agent_ref": {"type": "string", "description": "Name or id of the agent."},
				"agent": {"type": "string", "description": "The same as agent_ref."},
				"task": {"type": "string", "description": "What it is to do."},
				"context": {"type": "string", "description": "What it needs to know."},
				"preset": {"type": "string", "description": "One of the agent's presets."},
				"model": {"type": "string", "description": "The model for this task."},
				"max_iterations": {"type": "integer", "minimum": 1, "description": "At most this many rounds; can only lower the agent's own limit."},
				"async": {"type": "boolean", "description": "Return at once, without the answer."}
			},
			"required": ["task"],
			"additionalProperties": false
		}`),
		Policy: spawnPolicy(),
		Run:    extension.Typed(spawnAgent),
	}
}

type spawnAgentArgs struct {
	AgentRef string `json:"agent_ref"`
	Agent    string `json:"agent"`
	Task     string `json:"task"`
}

func spawnAgent(_ context.Context, _ extension.Call, a spawnAgentArgs) (string, error) {
	if a.AgentRef == "" {
		a.AgentRef = a.Agent
	}
	return refuseSpawn("agent_ref", a.AgentRef, a.Task)
}

func spawnWorkerTool() extension.Tool {
	return extension.Tool{
		Name:        "spawn_worker",
		Description: "Give one of your workers a task in a session of its own and return its answer.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"name": {"type": "string", "description": "Name of the worker."},
				"task": {"type": "string", "description": "What it is to do."},
				"context": {"type": "string", "description": "What it needs to know."},
				"preset": {"type": "string", "description": "One of your presets."},
				"tools": {"type": "array", "items": {"type": "string"}, "description": "The only tools it may use."},
				"model": {"type": "string", "description": "The model for this task."},
				"max_iterations": {"type": "integer", "minimum": 1, "description": "At most this many rounds; can only lower your own limit."},
				"async": {"type": "boolean", "description": "Return at once, without the answer."}
			},
			"required": ["name", "task"],
			"additionalProperties": false
		}`),
		Policy: spawnPolicy(),
		Run:    extension.Typed(spawnWorker),
	}
}

type spawnWorkerArgs struct {
	Name string `json:"name"`
	Task string `json:"task"`
}

func spawnWorker(_ context.Context, _ extension.Call, a spawnWorkerArgs) (string, error) {
	return refuseSpawn("name", a.Name, a.Task)
}

// refuseSpawn checks what can be checked without turns, so that a wrong call is told so first.
func refuseSpawn(field, who, task string) (string, error) {
	switch {
	case strings.TrimSpace(who) == "":
		return "", fmt.Errorf("spawn: %s is missing: %w", field, extension.ErrArgument)
	case strings.TrimSpace(task) == "":
		return "", fmt.Errorf("spawn %.80q: the task is blank: %w", who, extension.ErrArgument)
	}
	return "", fmt.Errorf("spawn %.80q: %w; no session was made", who, errNoTurns)
}
