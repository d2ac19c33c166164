package backing

import "golang.org/x/sys/unix"

const (
	memPage     = 4096
	memNameMax  = 255
	memSizeMax  = 1 << 40
	memXattrMax = 64 << 10
)

// memData is the content of a file. Pages that were never written are holes
// and read as zeros.
type memData struct {
	size  int64
	pages map[int64]*[memPage]byte
}

func (d *memData) blocks() uint64 { return uint64(len(d.pages)) * (memPage / 512) }

func (d *memData) readAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, unix.EINVAL
	}
	p = p[:min(int64(len(p)), max(d.size-off, 0))]
	for n := 0; n < len(p); {
		at := off + int64(n)
		part := p[n:min(len(p), n+memPage-int(at%memPage))]
		if page := d.pages[at/memPage]; page != nil {
			copy(part, page[at%memPage:])
		} else {
			clear(part)
		}
		n += len(part)
	}
	return len(p), nil
}

func (d *memData) writeAt(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	switch {
	case off < 0:
		return 0, unix.EINVAL
	case len(p) == 0:
		return 0, nil
	case end > memSizeMax || end < off:
		return 0, unix.EFBIG
	}
	for n := 0; n < len(p); {
		at := off + int64(n)
		n += copy(d.page(at / memPage)[at%memPage:], p[n:])
	}
	d.size = max(d.size, end)
	return len(p), nil
}

// page returns the page of that number to write on.
func (d *memData) page(number int64) *[memPage]byte {
	if d.pages == nil {
		d.pages = map[int64]*[memPage]byte{}
	}
	if d.pages[number] == nil {
		d.pages[number] = new([memPage]byte)
	}
	return d.pages[number]
}

func (d *memData) truncate(size int64) error {
	switch {
	case size < 0:
		return unix.EINVAL
	case size > memSizeMax:
		return unix.EFBIG
	}
	if size < d.size {
		d.punch(size, d.size)
	}
	d.size = size
	return nil
}

// punch turns [from, to) into zeros, and whole pages of it into holes. What
// lies behind the end counts as part of the last page.
func (d *memData) punch(from, to int64) {
	for number, page := range d.pages {
		start := number * memPage
		lo, hi := max(from-start, 0), min(to-start, memPage)
		switch {
		case lo >= hi:
		case lo == 0 && (hi == memPage || to >= d.size):
			delete(d.pages, number)
		default:
			clear(page[lo:hi])
		}
	}
}

func (d *memData) allocate(mode uint32, off, length int64) error {
	end := off + length
	switch {
	case off < 0 || length <= 0:
		return unix.EINVAL
	case mode == unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE:
		d.punch(off, end)
		return nil
	case mode&^unix.FALLOC_FL_KEEP_SIZE != 0:
		return unix.EOPNOTSUPP
	case end > memSizeMax || end < off:
		return unix.EFBIG
	}
	if mode&unix.FALLOC_FL_KEEP_SIZE == 0 {
		d.size = max(d.size, end)
	}
	return nil
}
