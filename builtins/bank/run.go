package bank

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Run makes a tool's function of one with typed arguments.
func Run[A any](fn func(ctx context.Context, c extension.Call, a A) (string, error)) func(context.Context, extension.Call, json.RawMessage) (string, error) {
	return func(ctx context.Context, c extension.Call, args json.RawMessage) (string, error) {
		var a A
		if err := json.Unmarshal(args, &a); err != nil {
			return "", fmt.Errorf("read arguments: %w: %w", extension.ErrArgument, err)
		}
		return fn(ctx, c, a)
	}
}
