package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chaz-peer/chaz-peer/extension"
)

const (
	maxBody      = 50_000 // bytes of a body that are shown
	fetchTimeout = 30 * time.Second
)

func fetchTool() extension.Tool {
	return extension.Tool{
		Name:        "web_fetch",
		Description: fmt.Sprintf("Make an HTTP request and return status and body, at most %d bytes of it. Any status is an answer.", maxBody),
		Parameters: json.RawMessage(`{
			"type": "object",
			"properties": {
				"url": {"type": "string", "description": "Address, http or https."},
				"method": {"type": "string", "description": "GET, POST, PUT, DELETE or PATCH; anything else is GET."},
				"body": {"type": "string", "description": "Body of the request."}
			},
			"required": ["url"],
			"additionalProperties": false
		}`),
		Policy: extension.Policy{Risk: extension.MediumRisk, Approval: extension.AskUnlessAutomatic},
		Run:    tool(fetch),
	}
}

type fetchArgs struct {
	URL    string `json:"url"`
	Method string `json:"method"`
	Body   string `json:"body"`
}

func fetch(ctx context.Context, h extension.Host, a fetchArgs) (string, error) {
	if strings.TrimSpace(a.URL) == "" {
		return "", fmt.Errorf("fetch: url is missing: %w", extension.ErrArgument)
	}
	r, err := h.Fetch(ctx, extension.FetchRequest{
		Method: method(a.Method), URL: strings.TrimSpace(a.URL), Body: a.Body, Timeout: fetchTimeout, Limit: maxBody,
	})
	if err != nil {
		return "", err
	}
	// Not every host keeps to the limit.
	body, cut := r.Body, r.Cut
	if len(body) > maxBody {
		body, cut = body[:maxBody], true
	}
	text, more := firstBytes(decode(body, cut), maxBody)
	if cut || more {
		text += fmt.Sprintf("\n[cut here: the body has more than %d bytes]", maxBody)
	}
	return "Status: " + r.Status + "\n\n" + text, nil
}

func method(name string) string {
	switch m := strings.ToUpper(strings.TrimSpace(name)); m {
	case "POST", "PUT", "DELETE", "PATCH":
		return m
	}
	return "GET"
}
