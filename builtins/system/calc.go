package system

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Limits of an expression.
const (
	maxExpression = 10_000 // bytes
	maxNesting    = 200
)

var (
	errSyntax   = errors.New("no expression")
	errZero     = errors.New("division by zero")
	errOverflow = errors.New("the result is too large")
	errUnreal   = errors.New("the result is not a real number")
)

// evaluate works out an expression. From loosest to tightest: + and -; * / and %, from the left; a
// sign; ^ or **, from the right. No result is infinite or undefined: that is an error where it
// happens.
func evaluate(expression string) (float64, error) {
	if len(expression) > maxExpression {
		return 0, fmt.Errorf("%w: longer than %d bytes", errSyntax, maxExpression)
	}
	p := &parser{text: expression, functions: functions()}
	v, err := p.sum()
	if err != nil {
		return 0, err
	}
	if p.skip(); p.at < len(p.text) {
		return 0, p.unexpected()
	}
	return v, nil
}

// parser reads and works out at once.
type parser struct {
	text      string
	at        int
	depth     int
	functions map[string]function
}

func (p *parser) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// accept reads one of the operators if it comes next.
func (p *parser) accept(operators ...string) string {
	p.skip()
	for _, op := range operators {
		if strings.HasPrefix(p.text[p.at:], op) {
			p.at += len(op)
			return op
		}
	}
	return ""
}

func (p *parser) unexpected() error {
	if p.skip(); p.at == len(p.text) {
		return fmt.Errorf("%w: it ends too early", errSyntax)
	}
	for _, r := range p.text[p.at:] {
		return fmt.Errorf("%w: unexpected %q at position %d", errSyntax, r, p.at+1)
	}
	return errSyntax
}

func (p *parser) sum() (float64, error) {
	if p.depth++; p.depth > maxNesting {
		return 0, fmt.Errorf("%w: nested deeper than %d", errSyntax, maxNesting)
	}
	defer func() { p.depth-- }()
	v, err := p.product()
	for err == nil {
		op := p.accept("+", "-")
		if op == "" {
			return v, nil
		}
		var w float64
		if w, err = p.product(); err == nil {
			v, err = apply(op, v, w)
		}
	}
	return 0, err
}

func (p *parser) product() (float64, error) {
	v, err := p.signed()
	for err == nil {
		op := p.accept("*", "/", "%")
		if op == "" {
			return v, nil
		}
		var w float64
		if w, err = p.signed(); err == nil {
			v, err = apply(op, v, w)
		}
	}
	return 0, err
}

// signed reads signs, which bind looser than a power: -2^2 is -4.
func (p *parser) signed() (float64, error) {
	negative := false
	for op := p.accept("+", "-"); op != ""; op = p.accept("+", "-") {
		negative = negative != (op == "-")
	}
	v, err := p.power()
	if negative {
		v = -v
	}
	return v, err
}

func (p *parser) power() (float64, error) {
	v, err := p.operand()
	if err != nil || p.accept("^", "**") == "" {
		return v, err
	}
	if p.depth++; p.depth > maxNesting {
		return 0, fmt.Errorf("%w: nested deeper than %d", errSyntax, maxNesting)
	}
	defer func() { p.depth-- }()
	w, err := p.signed()
	if err != nil {
		return 0, err
	}
	return apply("^", v, w)
}

func (p *parser) operand() (float64, error) {
	if p.accept("(") != "" {
		v, err := p.sum()
		if err == nil && p.accept(")") == "" {
			err = p.unexpected()
		}
		return v, err
	}
	if p.at == len(p.text) {
		return 0, p.unexpected()
	}
	switch c := p.text[p.at]; {
	case digit(c) || c == '.':
		return p.literal()
	case letter(c):
		return p.named()
	}
	return 0, p.unexpected()
}

// literal reads digits, perhaps with a point and an exponent.
func (p *parser) literal() (float64, error) {
	from := p.at
	digits := func() {
		for p.at < len(p.text) && digit(p.text[p.at]) {
			p.at++
		}
	}
	digits()
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		digits()
	}
	if mantissa := p.at; p.at < len(p.text) && p.text[p.at]|0x20 == 'e' {
		p.at++
		if p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
			p.at++
		}
		exponent := p.at
		if digits(); p.at == exponent {
			p.at = mantissa
		}
	}
	v, err := strconv.ParseFloat(p.text[from:p.at], 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errOverflow
	case err != nil || p.at < len(p.text) && letter(p.text[p.at]):
		return 0, fmt.Errorf("%w: malformed number at position %d", errSyntax, from+1)
	}
	return v, nil
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
