package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/chaz-peer/chaz-peer/crdt"
)

const (
	maxArgs    = 4 << 20
	maxSchema  = 256 << 10
	maxCached  = 1024 // compiled schemas
	schemaTime = 5 * time.Second
)

// schemas compiles the schemas of tools and remembers them.
type schemas struct {
	limit time.Duration // of one check; 0 is [schemaTime]

	mu   sync.Mutex
	done map[string]compiled // by their text
}

type compiled struct {
	schema *jsonschema.Schema
	err    error
}

// schemaError is a fault of the tool, not of the call.
type schemaError struct{ cause error }

func (e *schemaError) Error() string { return "the tool's own schema is faulty: " + e.cause.Error() }

// noLoader refuses to load what a schema refers to: nothing is read or fetched because of one.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %.80q", url)
}

func (s *schemas) compile(text json.RawMessage) (*jsonschema.Schema, error) {
	s.mu.Lock()
	c, ok := s.done[string(text)]
	s.mu.Unlock()
	if ok {
		return c.schema, c.err
	}
	c.schema, c.err = compile(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(text, c)
	return c.schema, c.err
}

func compile(text json.RawMessage) (*jsonschema.Schema, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("%d bytes are more than the limit of %d", len(text), maxSchema)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("tool:parameters", doc); err != nil {
		return nil, err
	}
	return c.Compile("tool:parameters")
}

// parse reads arguments; none at all are an empty object. The result is canonical JSON: hooks,
// approver and tool, in whatever language, read the same, also where a key stood twice.
func parse(args json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		return json.RawMessage("{}"), nil
	}
	if len(args) > maxArgs {
		return nil, fmt.Errorf("%d bytes are more than the limit of %d", len(args), maxArgs)
	}
	if !json.Valid(args) {
		return nil, errors.New("they are no JSON")
	}
	if bytes.TrimSpace(args)[0] != '{' {
		return nil, errors.New("they must be a JSON object")
	}
	text, err := crdt.Canonical(args)
	if err != nil {
		return nil, errors.New("they are no JSON")
	}
	return json.RawMessage(text), nil
}

// check validates arguments against a schema (empty: any object) and names the first violation. The
// time is bounded: a schema can be built to need years.
func (s *schemas) check(ctx context.Context, schema, args json.RawMessage) error {
	if len(bytes.TrimSpace(schema)) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, cmp.Or(s.limit, schemaTime))
	defer cancel()
	violation, err := within(limited, func(context.Context) (error, error) {
		compiled, err := s.compile(schema)
		if err != nil {
			return nil, err
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
		if err != nil {
			return err, nil
		}
		return compiled.Validate(v), nil
	})
	if err != nil {
		if limited.Err() != nil && ctx.Err() == nil {
			s.giveUp(schema)
		}
		return &schemaError{errors.New(Preview(err.Error(), 300))}
	}
	return firstViolation(violation)
}

var errEndless = errors.New("a check by it took too long once")

// giveUp remembers that a schema has no end. Its check can't be stopped, so there is only this one.
func (s *schemas) giveUp(text json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(text, compiled{err: errEndless})
}

// keep remembers what came of a schema. The caller holds mu.
func (s *schemas) keep(text json.RawMessage, c compiled) {
	if s.done == nil || len(s.done) >= maxCached {
		s.done = map[string]compiled{}
	}
	if old, ok := s.done[string(text)]; !ok || old.err == nil {
		s.done[string(text)] = c
	}
}

// firstViolation picks one violation, always the same, and says where it is.
func firstViolation(err error) error {
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return err
	}
	var all []string
	collect(ve, &all)
	slices.Sort(all)
	return errors.New(Preview(strings.Join(strings.Fields(all[0]), " "), 300))
}

func collect(ve *jsonschema.ValidationError, all *[]string) {
	for _, c := range ve.Causes {
		collect(c, all)
	}
	if len(ve.Causes) > 0 {
		return
	}
	if k, ok := ve.ErrorKind.(*kind.AdditionalProperties); ok {
		slices.Sort(k.Properties) // in the order of a map otherwise
	}
	*all = append(*all, ve.Error())
}
