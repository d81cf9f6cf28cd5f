package exchange_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders/ipld"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loaderIn is a loader over a new store.
func loaderIn(tb testing.TB, peers ipld.Peers) *ipld.Loader {
	tb.Helper()
	s, err := ipld.Open(filepath.Join(tb.TempDir(), "blocks"))
	if err != nil {
		tb.Fatal(err)
	}
	return ipld.New(ipld.Config{Store: s, Peers: peers, ABI: func([]byte) (string, error) { return extension.ABIExtismV1, nil }})
}
