package web

import (
	"bytes"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// readDuckDuckGo reads the page for browsers without scripts: each hit has a link of class
// "result__a" and, after it, a text of class "result__snippet". Advertisements lead to a page of the
// service itself and are left out.
func readDuckDuckGo(body []byte) ([]Result, error) {
	var out []Result
	open := false // the last hit still has no snippet
	z := html.NewTokenizer(bytes.NewReader(body))
	for t := z.Next(); t != html.ErrorToken; t = z.Next() {
		if t != html.StartTagToken {
			continue
		}
		tag := z.Token()
		switch {
		case tag.Data == "a" && hasClass(tag, "result__a"):
			to, ok := target(attribute(tag, "href"))
			if open = ok; ok {
				out = append(out, Result{Title: textUntil(z, tag.Data), URL: to})
			}
		case open && hasClass(tag, "result__snippet"):
			out[len(out)-1].Snippet = textUntil(z, tag.Data)
			open = false
		}
	}
	return out, nil
}

// textUntil reads the text up to the end of the element that has just begun.
func textUntil(z *html.Tokenizer, element string) string {
	var b strings.Builder
	for t := z.Next(); t != html.ErrorToken; t = z.Next() {
		switch t {
		case html.TextToken:
			b.Write(z.Text())
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == element {
				return b.String()
			}
		}
	}
	return b.String()
}

// target finds where a hit leads: its link goes through the service, with the address in "uddg".
func target(href string) (to string, ok bool) {
	u, err := url.Parse(href)
	if err != nil {
		return "", false
	}
	if to := u.Query().Get("uddg"); to != "" {
		href = to
		if u, err = url.Parse(to); err != nil {
			return "", false
		}
	}
	own := u.Host == "duckduckgo.com" || strings.HasSuffix(u.Host, ".duckduckgo.com")
	return href, u.Host != "" && !(own && u.Path == "/y.js")
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasClass(t html.Token, class string) bool {
	for c := range strings.FieldsSeq(attribute(t, "class")) {
		if c == class {
			return true
		}
	}
	return false
}
