package skills

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/extension"
)

const name = "skills"

type skills struct {
	decl  extension.Declaration
	log   *slog.Logger
	cache *bank.Cache[[]skill]

	mu     sync.Mutex
	disk   map[string][]skill // by folders: files are read once in the life of the process
	warned map[string]bool    // skill and missing tools
}

// cacheBudget is how much the skills of all documents may take together, in bytes, roughly.
const cacheBudget = 32 << 20

// New returns the extension, which warns in log of files that can't be used and of skills that lack
// tools; nil warns nowhere.
func New(log *slog.Logger) extension.Extension {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &skills{
		decl: extension.Declaration{
			Manifest: extension.Manifest{
				Name:     name,
				Ref:      extension.BuiltinRef(name, extension.HostVersion),
				Hooks:    []extension.HookKind{extension.HookTool, extension.HookCommand},
				Requires: []extension.Request{{Kind: extension.CapToolRegistration}, {Kind: extension.CapCommandRegistration}},
				Provides: []extension.Capability{extension.CapPromptAugmentation},
			},
			Scopes:      []extension.Scope{extension.Global, extension.PerSession},
			Commands:    []string{bank.Skills().Word},
			ReadAtBuild: []string{bank.Setting},
		},
		log: log, cache: bank.NewCache[[]skill](cacheBudget),
		disk: map[string][]skill{}, warned: map[string]bool{},
	}
}

// Declaration implements [extension.Extension].
func (s *skills) Declaration() extension.Declaration { return s.decl }

// Instantiate implements [extension.Extension]: tools and command for the peer, the catalogue for each
// session.
func (s *skills) Instantiate(ctx context.Context, sc extension.ScopeContext) (*extension.Instance, error) {
	switch c := sc.(type) {
	case extension.GlobalContext:
		l := library{s, c.Peer, s.files(c.Peer.SkillDirs)}
		return &extension.Instance{
			Tools:    []extension.Tool{l.listTool(), l.searchTool(), l.showTool()},
			Commands: []extension.Command{bank.Skills().Command(c.Peer)},
		}, nil
	case extension.SessionContext:
		attached, err := bank.Lent(ctx, c.Settings)
		if err != nil {
			return nil, fmt.Errorf("instantiate skills: %w", err)
		}
		l := library{s, c.Peer, s.files(c.Peer.SkillDirs)}
		return &extension.Instance{PromptAugmentation: func(ctx context.Context, t extension.Turn) (string, error) {
			return l.catalogue(ctx, t, attached)
		}}, nil
	}
	return nil, fmt.Errorf("instantiate skills: there is nothing at scope %s", sc.Scope())
}

// files returns the skills on disk.
func (s *skills) files(dirs []string) []skill {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.Join(dirs, "\x00")
	list, read := s.disk[key]
	if !read {
		list = scan(dirs, func(path string, err error) {
			s.log.Warn("a skill file is left out", "path", path, "cause", bank.Line(err.Error(), 300))
		})
		s.disk[key] = list
	}
	return list
}

// maxWarned bounds what is remembered of warnings.
const maxWarned = 1_000

// warn tells once for each skill and set of missing tools.
func (s *skills) warn(x skill, missing []string) {
	tools := bank.Line(strings.Join(missing, ", "), 300)
	key := x.from + "\x00" + x.name + "\x00" + tools
	s.mu.Lock()
	known := s.warned[key] || len(s.warned) == maxWarned
	if !known {
		s.warned[key] = true
	}
	s.mu.Unlock()
	if !known {
		s.log.Warn("a skill is not in the catalogue: tools that it requires are missing", "skill", bank.Line(x.name, maxName), "missing", tools)
	}
}
