package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// measureCode has the rows about code by reference: T1 to T8.
func measureCode(ctx context.Context, o *options, t *table) error {
	progress("building the guests")
	g, err := findGuests(ctx, o)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		run  func(context.Context, *options, guests, *table) error
	}{
		{"T1", measureLoads},
		{"T2", measureCalls},
		{"T3", measureLimits},
		{"T4", func(ctx context.Context, o *options, g guests, t *table) error {
			if err := measureKills(ctx, o, t); err != nil {
				return err
			}
			return measureBeside(ctx, o, g, t)
		}},
		{"T5", func(ctx context.Context, o *options, _ guests, t *table) error { return measureObjects(ctx, o, t) }},
		{"T6", measureReplay},
		{"T7", measureIdle},
		{"T8", func(ctx context.Context, o *options, _ guests, t *table) error { return measureOffline(ctx, o, t) }},
	} {
		if o.targets != "" && !slices.Contains(strings.Split(o.targets, ","), part.name) {
			continue
		}
		if err := part.run(ctx, o, g, t); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}
