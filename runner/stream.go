package runner

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/pkg/stdcopy"
)

// stream passes the input and output of a command on.
type stream struct {
	conn types.HijackedResponse
	done chan error // the end of the output, once
	once sync.Once

	closed  chan struct{}
	reading atomic.Int64 // since when a read waits, in nanoseconds; 0 if none does
}

func newStream(conn types.HijackedResponse) *stream {
	return &stream{conn: conn, done: make(chan error, 1), closed: make(chan struct{})}
}

// start copies until the command closes its output. With a terminal all output
// comes as one stream.
func (s *stream) start(stdin io.Reader, stdout, stderr io.Writer, terminal bool) {
	if stdin != nil {
		go func() {
			io.Copy(s.conn.Conn, stdin) // it ends when the command does
			s.conn.CloseWrite()
		}()
	}
	go func() {
		var err error
		if terminal {
			_, err = io.Copy(stdout, s)
		} else {
			_, err = stdcopy.StdCopy(stdout, stderr, s)
		}
		if !s.open() {
			err = nil // of our own closing
		}
		s.done <- err
	}()
}

// Read reads the output as it comes from the engine.
func (s *stream) Read(p []byte) (int, error) {
	s.reading.Store(time.Now().UnixNano())
	defer s.reading.Store(0)
	return s.conn.Reader.Read(p)
}

// quiet reports whether a read has waited for d. A writer that is slow to take
// the output keeps it from being so.
func (s *stream) quiet(d time.Duration) bool {
	since := s.reading.Load()
	return since != 0 && time.Since(time.Unix(0, since)) >= d
}

func (s *stream) open() bool {
	select {
	case <-s.closed:
		return false
	default:
		return true
	}
}

// Close ends both directions. It may be called again.
func (s *stream) Close() {
	s.once.Do(func() {
		close(s.closed)
		s.conn.Close()
	})
}

// limited passes so many bytes on and counts the rest.
type limited struct {
	to    io.Writer
	limit int64 // 0 for none

	seen atomic.Int64
}

func limit(to io.Writer, n int64) *limited {
	if to == nil {
		to = io.Discard
	}
	return &limited{to: to, limit: n}
}

// Write never says that it wrote less, since that would end the command's
// output for good.
func (l *limited) Write(p []byte) (int, error) {
	before := l.seen.Add(int64(len(p))) - int64(len(p))
	pass := p
	if l.limit > 0 {
		pass = p[:max(0, min(int64(len(p)), l.limit-before))]
	}
	if len(pass) > 0 {
		if _, err := l.to.Write(pass); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// cut is the number of bytes that were not passed on.
func (l *limited) cut() int64 {
	if l.limit == 0 {
		return 0
	}
	return max(0, l.seen.Load()-l.limit)
}
