package control

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Config is what a [Server] needs.
type Config struct {
	Home    string   // the folder that gets the socket; it must exist
	Methods []Method // each name once
	// TCP is a loopback host:port that serves the same methods to callers with the token in
	// [TokenFile]; empty: none. Port 0 picks one.
	TCP string
	// RuntimeDir takes the socket when the path of Home is too long for one ($XDG_RUNTIME_DIR; empty:
	// a folder below /tmp).
	RuntimeDir string
	Log        *slog.Logger
}

const (
	headerTime = 10 * time.Second
	maxHeader  = 16 << 10
	// stopTime is how long calls get to end when the server stops; their contexts are done by then.
	stopTime = 10 * time.Second
)

// Server serves the API of one node.
type Server struct {
	socket *socket
	tcp    net.Listener // nil: none
	unix   *http.Server
	web    *http.Server // nil: none
	log    *slog.Logger
	close  sync.Once
}

// New binds the socket and, if asked to, the TCP port; calls are answered from Run on. A home that
// another daemon serves, a port in use and a token file that others can read are refused.
func New(cfg Config) (*Server, error) {
	h, err := newHandler(cfg.Methods, cfg.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{log: cfg.Log, unix: newHTTP(h, cfg.Log)}
	if s.socket, err = bindSocket(cfg.Home, cfg.RuntimeDir); err != nil {
		return nil, err
	}
	if cfg.TCP == "" {
		return s, nil
	}
	token, err := loadToken(cfg.Home)
	if err == nil {
		s.tcp, err = listenLoopback(cfg.TCP)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	_, port, err := net.SplitHostPort(s.tcp.Addr().String())
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.web = newHTTP(&guard{next: h, token: sha256.Sum256([]byte(token)), port: port}, cfg.Log)
	return s, nil
}

func newHTTP(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, MaxHeaderBytes: maxHeader, IdleTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Socket is the path of the Unix socket.
func (s *Server) Socket() string { return s.socket.path }

// TCPAddr is the host:port of the TCP listener, empty if there is none.
func (s *Server) TCPAddr() string {
	if s.tcp == nil {
		return ""
	}
	return s.tcp.Addr().String()
}

// Run answers calls until ctx is done, then ends the running ones and closes. It returns when they
// are gone, with an error if one of them did not end in time or a listener failed.
func (s *Server) Run(ctx context.Context) error {
	base, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	failed := make(chan error, 2)
	var serving sync.WaitGroup
	serve := func(srv *http.Server, l net.Listener) {
		srv.BaseContext = func(net.Listener) context.Context { return base }
		serving.Go(func() {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve control API: %w", err)
			}
		})
	}
	serve(s.unix, s.socket)
	if s.web != nil {
		serve(s.web, s.tcp)
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stop(errStopping)
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err = errors.Join(err, shutdown(limit, s.unix), shutdown(limit, s.web))
	serving.Wait()
	return errors.Join(err, s.Close())
}

func shutdown(limit context.Context, srv *http.Server) error {
	if srv == nil {
		return nil
	}
	if err := srv.Shutdown(limit); err != nil {
		return errors.Join(fmt.Errorf("stop control API: %w", err), srv.Close())
	}
	return nil
}

// Close frees the socket and the port. It is called by Run; a server that never ran needs it.
func (s *Server) Close() error {
	var err error
	s.close.Do(func() {
		err = s.socket.remove()
		for _, l := range []net.Listener{s.socket.Listener, s.tcp} {
			if l == nil {
				continue
			}
			if e := l.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
				err = errors.Join(err, fmt.Errorf("close control API: %w", e))
			}
		}
	})
	return err
}
