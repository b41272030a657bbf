package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// joinRestore claims the part of a container in an image that its Pod is being restored from. The mark of the Pod has the
// containers that were captured. It outlives the image, and a container that comes later, to debug the Pod, is not in it.
//
// Until all of them are restored, gVisor takes each start in the sandbox for a restore of one of them. So until then no container is
// started here: it is restored, or it waits, or the sandbox ends.
func (c *container) joinRestore(ctx context.Context, image, name string, of claim) error {
	ofPod, err := readMark(markPath(image, ""))
	if isUnknown(err) {
		return err
	}
	if err != nil || ofPod.Container != c.sandbox.id {
		return c.leave(ctx, "its Pod was not restored from memory image %s in this sandbox", image)
	}
	if ofPod.Outcome == "restoring" {
		return fmt.Errorf("it is not known yet whether the Pod was restored from memory image %s", image)
	}
	if ofPod.Outcome != "restored" {
		return c.leave(ctx, "its Pod was not restored from memory image %s", image)
	}
	isWhole, err := c.isWhole(image, ofPod.Containers)
	if err != nil {
		return err
	}
	if isWhole {
		return c.leave(ctx, "all that was captured in memory image %s is restored", image)
	}
	if !slices.Contains(ofPod.Containers, name) {
		return fmt.Errorf("the Pod is being restored from memory image %s, which does not have this container: the container is created after the restore", image)
	}
	return c.joinHalf(image, name, of)
}

// joinHalf claims the part of a container that was captured, and is not restored in this sandbox. If an earlier container of the same name
// was created and never started, gVisor has not counted it, and this one takes its part. gVisor refuses that if it has.
func (c *container) joinHalf(image, name string, of claim) error {
	former, isThere, err := c.mark.found()
	if err != nil {
		return err
	}
	if isThere && former.Outcome != "restoring" {
		return c.refuse(image, fmt.Errorf("the container %s was %s, and the rest of the Pod is not restored", former.Container, former.Outcome))
	}
	write := c.mark.claim
	if isThere {
		write = c.mark.takeOver
	}
	described, bad := readDescription(image)
	if bad == nil {
		bad = described.check(image, name, of)
	}
	isTaken, err := c.take(image, bad, write)
	if err != nil && !isWorthAnotherTry(image) {
		// The mark of the Pod is there, so its next sandbox starts anew.
		return c.refuse(image, err)
	}
	if err != nil {
		return err
	}
	if !isTaken {
		return fmt.Errorf("another container claims the same part of memory image %s", image)
	}
	if bad != nil {
		return c.refuse(image, bad)
	}
	c.image = image
	return nil
}

// isWhole tells whether all captured containers of the Pod are restored. A full disk may keep that from being written down: then gVisor
// says that such a container runs.
func (c *container) isWhole(image string, containers []string) (bool, error) {
	for _, name := range containers {
		each, err := readMark(markPath(image, name))
		if isUnknown(err) {
			return false, err
		}
		isRestored := err == nil && (each.Outcome == "restored" || each.Outcome == "restoring" && c.sandbox.runs(each.Container))
		if !isRestored {
			return false, nil
		}
	}
	return true, nil
}

// refuse marks the image. The container was captured and is not restored yet, so the rest of the Pod waits for it: the
// sentry ends too, if there is one.
func (c *container) refuse(image string, reason error) error {
	refused := fmt.Errorf("cannot restore memory image %s: %w", image, reason)
	os.Remove(troubleElsewhere(image))
	return errors.Join(refused, c.sandbox.endNow(), c.mark.conclude("refused", reason))
}
