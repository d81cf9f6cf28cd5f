package main

import (
	"context"

	"github.com/chaz-peer/chaz-peer/node/control"
)

type secretCmds struct {
	Set  secretSetCmd  `cmd:"" help:"Store a secret, read from standard input."`
	List secretListCmd `cmd:"" help:"The names of the secrets; never their values."`
	Rm   secretRmCmd   `cmd:"" help:"Remove a secret."`
}

type secretSetCmd struct {
	Name string `arg:"" help:"The name."`
}

// Run reads the value from standard input, so that it appears in no history and no list of
// processes.
func (c *secretSetCmd) Run(ctx context.Context, a *app) error {
	value, err := a.argOrInput("-")
	if err != nil {
		return err
	}
	return ask(ctx, a, control.SecretSet, control.SecretSetParams{Name: c.Name, Value: value}, showSecret)
}

func showSecret(p *page, s control.SecretInfo) { p.line(plain, "%s", clean(s.Name)) }

type secretListCmd struct{}

// Run lists the names.
func (secretListCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.SecretList, control.SecretListParams{}, func(p *page, all control.List[control.SecretInfo]) {
		if len(all) == 0 {
			p.line(plain, "No secrets.")
		}
		for _, s := range all {
			showSecret(p, s)
		}
	})
}

type secretRmCmd struct {
	Name string `arg:"" help:"The name."`
}

// Run removes a secret.
func (c *secretRmCmd) Run(ctx context.Context, a *app) error {
	return ask(ctx, a, control.SecretRemove, control.SecretParams{Name: c.Name}, showSecret)
}
