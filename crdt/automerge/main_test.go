package automerge

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"testing"
)

// The test binary run again with one of these as its first argument does something else than test.
const (
	readMode  = "read-automerge" // is the reading process of Child
	hangMode  = "hang"           // is one that never answers
	limitMode = "limit"          // limits itself and takes as many MiB as the second argument says
	leakMode  = "leak"           // forgets to close documents and prints how much memory that takes
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if run, ok := modes()[os.Args[1]]; ok {
			if err := run(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func modes() map[string]func() error {
	return map[string]func() error{
		readMode: func() error { return RunReader(os.Stdin, os.Stdout) },
		hangMode: func() error {
			never := make(chan os.Signal, 1)
			signal.Notify(never, os.Interrupt)
			<-never
			return nil
		},
		limitMode: func() error {
			if err := limitProcess(); err != nil {
				return err
			}
			mib, err := strconv.Atoi(os.Args[2])
			if err == nil {
				fmt.Println(len(make([]byte, mib<<20)))
			}
			return err
		},
		leakMode: func() error {
			grown, err := leak()
			fmt.Println(grown)
			return err
		},
	}
}

// again is the test binary in another mode.
func again(t testing.TB, mode string) Child {
	t.Helper()
	path, err := os.Executable()
	check(t, err)
	return Child{Path: path, Args: []string{mode}}
}
