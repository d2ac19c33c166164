package audit

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Log is a file of JSON lines, one for each event. It only ever appends, and
// writes each line with a single write(2), so that several daemons can share a
// file. Lines are not synced: a crash of the machine can lose the last ones.
type Log struct {
	name string

	mu   sync.Mutex
	file *os.File // guarded by mu
	torn bool     // guarded by mu; the last write ended within a line
}

// OpenLog opens the file of that name, and makes it with mode 0600 where there
// is none.
func OpenLog(name string) (*Log, error) {
	f, err := openAppend(name)
	if err != nil {
		return nil, err
	}
	return &Log{name: name, file: f, torn: endsWithinLine(name)}, nil
}

// Write appends e. After an error the line is not in the file, or not whole;
// the next one starts on a line of its own all the same.
func (l *Log) Write(e Event) error {
	b, err := e.MarshalJSON()
	if err != nil {
		return fmt.Errorf("audit event: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.torn {
		b = append([]byte{'\n'}, b...)
	}
	b = append(b, '\n')
	n, err := l.file.Write(b)
	if n > 0 {
		l.torn = n < len(b)
	}
	if err != nil {
		return fmt.Errorf("audit file: %w", err)
	}
	return nil
}

// Reopen opens the file by its name again, after somebody moved the old one
// away. When that fails the old one stays in use.
func (l *Log) Reopen() error {
	f, err := openAppend(l.name)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.file
	l.file, l.torn = f, endsWithinLine(l.name)
	return old.Close()
}

// Close closes the file. What is written later is an error.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// openAppend does not wait for somebody to read where a pipe stands.
func openAppend(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ENXIO) {
		return nil, fmt.Errorf("audit file: %s is a pipe or socket that nobody reads; start its reader first", name)
	}
	if err != nil {
		return nil, fmt.Errorf("audit file: %w", err)
	}
	return f, nil
}

// endsWithinLine reports whether the file was left without a newline at its
// end, as a full disk does. It is false where that cannot be seen.
func endsWithinLine(name string) bool {
	st, err := os.Stat(name)
	if err != nil || !st.Mode().IsRegular() || st.Size() == 0 {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var last [1]byte
	_, err = f.ReadAt(last[:], st.Size()-1)
	return err == nil && last[0] != '\n'
}
