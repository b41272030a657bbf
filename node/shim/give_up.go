package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/log"
)

// timeToAnswer is what a shim that gives up has to send its last answer.
const timeToAnswer = 50 * time.Millisecond

// giveUp ends the sentry and this shim after a failed restore. With an error alone, the Pod would stay half made.
func (c *container) giveUp(ctx context.Context, reason error) error {
	failed := fmt.Errorf("the restore from memory image %s failed: %w", c.image, reason)
	return c.endAll(ctx, errors.Join(failed, c.mark.conclude("failed", reason)))
}

// tryLater does the same before anything is restored, so the image stays unused. The sentry is gone before the mark is: without a mark,
// a Pod that runs counts as one that lives anew.
func (c *container) tryLater(ctx context.Context, reason error) error {
	failed := fmt.Errorf("nothing is restored from memory image %s yet: %w", c.image, reason)
	err := c.endSentry()
	for began := time.Now(); c.sandbox.isSentry(c.sentry) && time.Since(began) < longestEnd; {
		time.Sleep(time.Millisecond)
	}
	return c.endShim(ctx, errors.Join(failed, err, c.mark.release()))
}

func (c *container) endAll(ctx context.Context, failed error) error {
	return c.endShim(ctx, errors.Join(failed, c.endSentry()))
}

func (c *container) endSentry() error {
	if c.sentry == 0 {
		return nil
	}
	return c.sandbox.end(c.sentry)
}

// endShim gives it the time for its last answer.
func (c *container) endShim(ctx context.Context, failed error) error {
	log.G(ctx).Errorf("container %s: %v", c.id, failed)
	time.AfterFunc(timeToAnswer, func() { c.exit(1) })
	return failed
}

// endIfTorn ends the sentry of a Pod that runsc can signal no more.
func (c *container) endIfTorn(ctx context.Context) (bool, error) {
	if !c.sandbox.isTorn(c.sandbox.id) && !c.sandbox.isTorn(c.id) {
		return false, nil
	}
	sentry := c.sandbox.find()
	if sentry == 0 {
		return false, nil
	}
	log.G(ctx).Warnf("container %s: a state file of its Pod is torn, so runsc can signal it no more; ending its sentry", c.id)
	return true, c.sandbox.end(sentry)
}

// prepareDelete has gVisor's Delete succeed at the first try.
func (c *container) prepareDelete(ctx context.Context) {
	c.noteDeleted.Do(func() { close(c.deleted) })
	if c.sentry != 0 {
		waitForEnd(c.sentry)
	}
	if err := c.sandbox.removeTorn(c.id); err != nil {
		log.G(ctx).Warnf("container %s: cannot remove its torn state file: %v", c.id, err)
	}
}
