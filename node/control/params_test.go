package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/node/control"
)

// raw sends bytes as another program would.
func raw(t *testing.T, s *control.Server, method, path, body string) (int, string) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", s.Socket())
	}}}
	req, err := http.NewRequest(method, "http://x"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

func TestStrictParameters(t *testing.T) {
	s := serve(t, control.Config{Home: t.TempDir(), Methods: table(nil)})
	for _, tc := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"good", "POST", "/v1/session.post", `{"session":"s","content":"c"}`, 200, `"id":"s:c"`},
		{"unknown field", "POST", "/v1/session.post", `{"session":"s","contents":"c"}`, 400, `unknown field`},
		{"wrong type", "POST", "/v1/session.post", `{"session":1}`, 400, `"code":"usage"`},
		{"two values", "POST", "/v1/session.post", `{} {}`, 400, `more than one`},
		{"not json", "POST", "/v1/session.post", `{"session":`, 400, `read parameters`},
		{"empty is an empty object", "POST", "/v1/session.post", ``, 200, `"id":":"`},
		{"too long", "POST", "/v1/session.post", `{"content":"` + strings.Repeat("x", 2<<20) + `"}`, 413, `"code":"too_large"`},
		{"not POST", "GET", "/v1/session.post", ``, 400, `POST`},
		{"no such method", "POST", "/v1/nothing", `{}`, 404, `"code":"not_found"`},
		{"no such path", "POST", "/else", `{}`, 404, `"code":"not_found"`},
		{"upload line too long", "POST", "/v1/session.import", `{"name":"` + strings.Repeat("x", 70<<10) + `"}`, 413, `"code":"too_large"`},
		{"upload", "POST", "/v1/session.import", "{\"name\":\"n\",\"format\":\"jsonl\"}\na\nb\n", 200, `{"result":{"id":"n","entries":2}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := raw(t, s, tc.method, tc.path, tc.body)
			if status != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("%d %s, want %d with %s", status, body, tc.status, tc.want)
			}
		})
	}
}

func FuzzParams(f *testing.F) {
	c, err := newRaw()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"session":"s"}`))
	f.Add([]byte(`{"session":"s"} x`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, err := c(context.Background(), b, nil)
		var p control.SessionPostParams
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err == nil && len(bytes.TrimSpace(b)) > 0 && d.Decode(&p) != nil {
			t.Errorf("%q passed", b)
		}
	})
}

func newRaw() (control.Handler, error) {
	for _, m := range table(nil) {
		if m.Name == control.SessionPost.Name() {
			return func(ctx context.Context, p json.RawMessage, s *control.Stream) (r any, err error) {
				defer func() {
					if v := recover(); v == "boom" {
						err = nil
					} else if v != nil {
						panic(v)
					}
				}()
				return m.Handler(ctx, p, s)
			}, nil
		}
	}
	return nil, errors.New("no such method")
}
