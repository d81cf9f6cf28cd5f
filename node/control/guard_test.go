package control_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/node/control"
)

func TestTCPWantsTokenAndNoWebPage(t *testing.T) {
	home := t.TempDir()
	s := serve(t, control.Config{Home: home, Methods: table(nil), TCP: "127.0.0.1:0"})
	path := filepath.Join(home, control.TokenFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("token file: %v, %v", info, err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(b))
	_, port, _ := net.SplitHostPort(s.TCPAddr())

	for _, tc := range []struct {
		name   string
		change func(*http.Request)
		status int
	}{
		{"good", func(*http.Request) {}, 200},
		{"good by name", func(r *http.Request) { r.Host = "localhost:" + port }, 200},
		{"no token", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"wrong token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("0", 64)) }, 401},
		{"token without scheme", func(r *http.Request) { r.Header.Set("Authorization", token) }, 401},
		{"rebound name", func(r *http.Request) { r.Host = "evil.example:" + port }, 403},
		{"other port", func(r *http.Request) { r.Host = "127.0.0.1:1" }, 403},
		{"web page", func(r *http.Request) { r.Header.Set("Origin", "http://localhost:"+port) }, 403},
		{"form", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req, err := http.NewRequest("POST", "http://"+s.TCPAddr()+"/v1/session.post", strings.NewReader(`{"session":"s"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Content-Type", "application/json")
			tc.change(req)
			c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != tc.status {
				t.Errorf("%d %s, want %d", resp.StatusCode, body, tc.status)
			}
		})
	}
}

func TestTokenFileIsKeptAndChecked(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, control.TokenFile)
	start := func() error {
		s, err := control.New(control.Config{Home: home, TCP: "127.0.0.1:0", Log: quiet()})
		if err == nil {
			err = s.Close()
		}
		return err
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	first, _ := os.ReadFile(path)
	if err := start(); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(path); string(again) != string(first) || len(first) != 65 {
		t.Errorf("token changed from %q to %q", first, again)
	}
	var e *control.Error
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := start(); !errors.As(err, &e) || e.Remedy == "" {
		t.Errorf("a token that others can read: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(); !errors.As(err, &e) {
		t.Errorf("a token of another form: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "control.sock")); len(left) != 0 {
		t.Error("a refused start left its socket")
	}
}

func TestTCPIsLoopbackOnly(t *testing.T) {
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "example.org:80", "nonsense", used.Addr().String()} {
		var e *control.Error
		if _, err := control.New(control.Config{Home: t.TempDir(), TCP: addr, Log: quiet()}); !errors.As(err, &e) || e.Remedy == "" {
			t.Errorf("listening on %q: %v", addr, err)
		}
	}
}
