package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// errUnmounted is why a command was ended whose view is not mounted any more
// outside of its sandbox. There it would go on: a mount that is seen from
// another namespace keeps the view and its daemon alive, out of everybody's
// sight.
var errUnmounted = errors.New("the view was unmounted while the command ran, which has been killed")

// endUnmounted ends the command when the view at point is unmounted, until ctx
// is done.
func endUnmounted(ctx context.Context, point string, end context.CancelCauseFunc) error {
	table, err := mountinfo.Read()
	if err != nil {
		return err
	}
	mounted, ok := table.At(point)
	if !ok || !mounted.Ours() {
		return fmt.Errorf("%s: %w", point, errUnmounted)
	}
	go mountinfo.Watch(ctx, func() {
		if now, err := mountinfo.Read(); err == nil && !now.Has(mounted.ID) {
			end(errUnmounted)
		}
	})
	return nil
}
