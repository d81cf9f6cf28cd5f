package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// configField is the field of an agent's meta store that holds its config.
const configField = "memory_auto_recall"

// config says what is recalled for an agent by itself.
type config struct {
	Enabled bool `json:"auto_recall_enabled"`
	Max     int  `json:"max_entries"` // of each source, 1 to maxAuto
	// Banks names the banks that are asked; nil is all, empty none. The agent's own memory is always
	// asked.
	Banks []string `json:"auto_recall_banks"`
}

const (
	defaultAuto = 3
	maxAuto     = 20
)

func defaultConfig() config { return config{Enabled: true, Max: defaultAuto} }

// readConfig reads the config of an agent's document; a field that makes no sense has its default.
func readConfig(v *crdt.View) config {
	c := defaultConfig()
	text, _ := v.Record(crdt.MetaStore, configField)
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) != nil {
		return c
	}
	if json.Unmarshal(fields["auto_recall_enabled"], &c.Enabled) != nil {
		c.Enabled = true
	}
	if json.Unmarshal(fields["max_entries"], &c.Max) != nil || c.Max < 1 || c.Max > maxAuto {
		c.Max = defaultAuto
	}
	if json.Unmarshal(fields["auto_recall_banks"], &c.Banks) != nil {
		c.Banks = nil
	}
	return c
}

// wants reports whether a source is asked.
func (c config) wants(s bank.Source) bool {
	return s.Name == bank.Self || c.Banks == nil || slices.ContainsFunc(c.Banks, s.Is)
}

func (c config) String() string {
	banks := "all"
	switch {
	case c.Banks != nil && len(c.Banks) == 0:
		banks = "none"
	case c.Banks != nil:
		banks = bank.Line(strings.Join(c.Banks, ", "), 500)
	}
	return fmt.Sprintf("auto_recall_enabled: %t\nmax_entries: %d\nauto_recall_banks: %s", c.Enabled, c.Max, banks)
}

// set takes a field from its text.
func (c *config) set(field, value string) error {
	switch field {
	case "auto_recall_enabled":
		switch strings.ToLower(value) {
		case "true", "1", "yes", "on":
			c.Enabled = true
		case "false", "0", "no", "off":
			c.Enabled = false
		default:
			return fmt.Errorf("auto_recall_enabled: use true or false, not %s", bank.Name(value))
		}
	case "max_entries":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxAuto {
			return fmt.Errorf("max_entries: use a whole number from 1 to %d, not %s", maxAuto, bank.Name(value))
		}
		c.Max = n
	case "auto_recall_banks":
		c.Banks = bankList(value)
	default:
		return fmt.Errorf("unknown key %s; there are auto_recall_enabled, max_entries and auto_recall_banks", bank.Name(field))
	}
	return nil
}

// bankList reads all, none or a list with commas.
func bankList(value string) []string {
	if value == "all" {
		return nil
	}
	out := []string{}
	for _, s := range strings.Split(value, ",") {
		if s = strings.TrimSpace(s); s != "" && value != "none" {
			out = append(out, s)
		}
	}
	return out
}

func (d desk) configVerb() bank.Verb {
	return bank.Verb{
		Name: "config", Usage: "[show | set <key> <value> | reset]",
		Run: func(ctx context.Context, c extension.Call, args string) (string, error) {
			agent, err := bank.Agent(ctx, d.peer, c.Agent)
			if err != nil {
				return "", err
			}
			word, rest := bank.Cut(args)
			switch {
			case rest == "" && (word == "" || word == "show"):
				return showConfig(ctx, agent)
			case rest == "" && word == "reset":
				err := agent.Update(ctx, func(tx *crdt.Tx) error { return tx.Delete(crdt.MetaStore, configField) })
				return "Back to the defaults, from the next turn on:\n" + defaultConfig().String(), err
			case word == "set":
				if key, value := bank.Cut(rest); value != "" {
					return setConfig(ctx, agent, key, value)
				}
			}
			return "", bank.ErrUsage
		},
	}
}

func showConfig(ctx context.Context, agent extension.Document) (out string, err error) {
	err = agent.View(ctx, func(v *crdt.View) error { out = readConfig(v).String(); return nil })
	return out, err
}

func setConfig(ctx context.Context, agent extension.Document, key, value string) (string, error) {
	var now config
	err := agent.Update(ctx, func(tx *crdt.Tx) error {
		now = readConfig(tx.View)
		if err := now.set(key, value); err != nil {
			return err
		}
		return tx.Set(crdt.MetaStore, configField, now)
	})
	if err != nil {
		return "", fmt.Errorf("set config: %w", err)
	}
	return "From the next turn on:\n" + now.String(), nil
}
