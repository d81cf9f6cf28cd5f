package git

import (
	"os"
	"testing"
)

// TestMain gives the process a proxy that leads nowhere, before anything reads the environment: whoever
// used it would reach no host.
func TestMain(m *testing.M) {
	for _, k := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		if err := os.Setenv(k, "http://192.0.2.1:9"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
