package p2p

import (
	"context"
	"log/slog"

	"github.com/libp2p/go-libp2p/gologshim"
)

// LogLibrary sends the log of libp2p itself to h, as debug records, because its errors are about
// single connections and mean nothing to a person. Otherwise they go to standard error. It holds for
// the whole process: the program calls it once, before the first [New].
func LogLibrary(h slog.Handler) { gologshim.SetDefaultHandler(demoted{h}) }

// demoted passes what is at least a warning, as debug records.
type demoted struct{ slog.Handler }

func (d demoted) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && d.Handler.Enabled(ctx, slog.LevelDebug)
}

func (d demoted) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	r.AddAttrs(slog.String("libp2p_level", r.Level.String()))
	r.Level = slog.LevelDebug
	return d.Handler.Handle(ctx, r)
}

func (d demoted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return demoted{d.Handler.WithAttrs(attrs)}
}

func (d demoted) WithGroup(name string) slog.Handler { return demoted{d.Handler.WithGroup(name)} }
