package pipeline

import (
	"fmt"

	"github.com/chaz-peer/chaz-peer/extension"
)

// mergePolicy puts what an operator states (the non-zero fields of over) in the place of what a tool
// says of itself, field by field, and fills in the defaults.
func mergePolicy(own, over extension.Policy) extension.Policy {
	if over.Risk != "" {
		own.Risk = over.Risk
	}
	if over.Approval != "" {
		own.Approval = over.Approval
	}
	if over.Timeout != 0 {
		own.Timeout = over.Timeout
	}
	if over.RateLimit != nil {
		own.RateLimit = over.RateLimit
	}
	if over.Sensitive != nil {
		own.Sensitive = over.Sensitive
	}
	return own.Fill()
}

// CheckPolicy reports a field that makes no sense. Zero fields are fine.
func CheckPolicy(p extension.Policy) error {
	switch p.Risk {
	case "", extension.LowRisk, extension.MediumRisk, extension.HighRisk:
	default:
		return fmt.Errorf("check tool policy: risk %.40q (want low, medium or high)", p.Risk)
	}
	switch p.Approval {
	case "", extension.NeverAsk, extension.AskUnlessAutomatic, extension.AlwaysAsk:
	default:
		return fmt.Errorf("check tool policy: approval %.40q (want never, unless_auto_approved or always)", p.Approval)
	}
	if p.Timeout < 0 {
		return fmt.Errorf("check tool policy: timeout %s", p.Timeout)
	}
	if p.RateLimit != nil && *p.RateLimit < 0 {
		return fmt.Errorf("check tool policy: rate limit %d", *p.RateLimit)
	}
	return nil
}

func (r *Runner) policy(tool string, own extension.Policy) extension.Policy {
	p := mergePolicy(own, r.cfg.Policies[tool])
	if p.Timeout < 0 { // a tool's own nonsense; the operator's is refused by New
		p.Timeout = extension.DefaultTimeout
	}
	return p
}
