package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// Result is one hit of a search.
type Result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

// What is shown of one hit, in bytes.
const (
	maxTitle   = 300
	maxURL     = 2000
	maxSnippet = 1000
)

// clean keeps at most n hits that lead somewhere, each as one line of plain text. The result is
// never nil.
func clean(found []Result, n int) []Result {
	out := make([]Result, 0, n)
	for _, r := range found {
		u, err := url.Parse(strings.TrimSpace(r.URL))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			continue
		}
		r.URL = u.String()
		if len(r.URL) > maxURL {
			continue
		}
		r.Title, _ = firstBytes(oneLine(r.Title), maxTitle)
		r.Snippet, _ = firstBytes(oneLine(r.Snippet), maxSnippet)
		if out = append(out, r); len(out) == n {
			break
		}
	}
	return out
}

// oneLine makes runs of blanks and line ends one blank.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

// plain is the text of a piece of HTML: some services mark the words that were searched.
func plain(piece string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(piece))
	for t := z.Next(); t != html.ErrorToken; t = z.Next() {
		if t == html.TextToken {
			b.Write(z.Text())
		}
	}
	return b.String()
}

// readList reads an answer {list: [{"title", link, snippet}]}.
func readList(list, link, snippet string) func([]byte) ([]Result, error) {
	return func(body []byte) ([]Result, error) {
		var answer map[string]json.RawMessage
		if err := json.Unmarshal(body, &answer); err != nil {
			return nil, err
		}
		return readRows(answer[list], link, snippet)
	}
}

// readRows reads the rows of an answer; a service that found nothing may leave the list out.
func readRows(list json.RawMessage, link, snippet string) ([]Result, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(list, &rows); err != nil {
		return nil, err
	}
	out := make([]Result, 0, len(rows))
	for _, row := range rows {
		out = append(out, Result{text(row["title"]), text(row[link]), text(row[snippet])})
	}
	return out, nil
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // what is no string is no text
	return s
}

func readBrave(body []byte) ([]Result, error) {
	var answer struct {
		Web map[string]json.RawMessage `json:"web"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	out, err := readRows(answer.Web["results"], "url", "description")
	for i, r := range out {
		out[i].Title, out[i].Snippet = plain(r.Title), plain(r.Snippet)
	}
	return out, err
}

// readKagi leaves out rows that are no hits; those have t 0.
func readKagi(body []byte) ([]Result, error) {
	var answer struct {
		Data []struct {
			T       int    `json:"t"`
			Title   string `json:"title"`
			URL     string `json:"url"`
			Snippet string `json:"snippet"`
		} `json:"data"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	if answer.Data == nil && len(answer.Error) > 0 && string(answer.Error) != "null" {
		return nil, fmt.Errorf("it says %.200s", answer.Error)
	}
	var out []Result
	for _, r := range answer.Data {
		if r.T == 0 {
			out = append(out, Result{plain(r.Title), r.URL, plain(r.Snippet)})
		}
	}
	return out, nil
}
