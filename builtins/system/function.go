package system

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// function takes at least min and at most max arguments; max -1 is no limit.
type function struct {
	min, max int
	run      func(args []float64) (float64, error)
}

func functions() map[string]function {
	one := func(f func(float64) float64) function {
		return function{1, 1, func(a []float64) (float64, error) { return finite(f(a[0])) }}
	}
	two := func(f func(a, b float64) float64) function {
		return function{2, 2, func(a []float64) (float64, error) { return finite(f(a[0], a[1])) }}
	}
	return map[string]function{
		"abs": one(math.Abs), "sqrt": one(math.Sqrt), "cbrt": one(math.Cbrt), "exp": one(math.Exp),
		"ln": one(logarithm(math.Log)), "log2": one(logarithm(math.Log2)), "log10": one(logarithm(math.Log10)),
		"sin": one(math.Sin), "cos": one(math.Cos), "tan": one(math.Tan),
		"asin": one(math.Asin), "acos": one(math.Acos), "atan": one(math.Atan), "atan2": two(math.Atan2),
		"sinh": one(math.Sinh), "cosh": one(math.Cosh), "tanh": one(math.Tanh),
		"floor": one(math.Floor), "ceil": one(math.Ceil), "round": one(math.Round), "trunc": one(math.Trunc),
		"hypot": two(math.Hypot),
		"pow":   {2, 2, func(a []float64) (float64, error) { return apply("^", a[0], a[1]) }},
		"min":   {1, -1, func(a []float64) (float64, error) { return slices.Min(a), nil }},
		"max":   {1, -1, func(a []float64) (float64, error) { return slices.Max(a), nil }},
	}
}

// logarithm makes the logarithm of 0 undefined, not too large.
func logarithm(f func(float64) float64) func(float64) float64 {
	return func(v float64) float64 {
		if v <= 0 {
			return math.NaN()
		}
		return f(v)
	}
}

func functionNames() string {
	return strings.Join(slices.Sorted(maps.Keys(functions())), ", ")
}

// named reads a constant, or a function and its arguments.
func (p *parser) named() (float64, error) {
	from := p.at
	for p.at < len(p.text) && (letter(p.text[p.at]) || digit(p.text[p.at])) {
		p.at++
	}
	name := p.text[from:p.at]
	f, known := p.functions[name]
	if !known {
		switch name {
		case "pi":
			return math.Pi, nil
		case "tau":
			return 2 * math.Pi, nil
		case "e":
			return math.E, nil
		}
		return 0, fmt.Errorf("%w: unknown name %.40q; there are pi, tau, e, %s", errSyntax, name, functionNames())
	}
	args, err := p.arguments()
	if err != nil {
		return 0, err
	}
	if len(args) < f.min || f.max >= 0 && len(args) > f.max {
		return 0, fmt.Errorf("%w: %s can't take %d arguments", errSyntax, name, len(args))
	}
	v, err := f.run(args)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return v, err
}

// arguments reads a list in parentheses.
func (p *parser) arguments() ([]float64, error) {
	if p.accept("(") == "" {
		return nil, p.unexpected()
	}
	if p.accept(")") != "" {
		return nil, nil
	}
	var args []float64
	for {
		v, err := p.sum()
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		switch p.accept(",", ")") {
		case ")":
			return args, nil
		case "":
			return nil, p.unexpected()
		}
	}
}
