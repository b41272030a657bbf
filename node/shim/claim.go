package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/containerd/log"
)

// claim is what a container says of itself when it asks for its memory.
type claim struct {
	annotations map[string]string
	// config is the hash of what it would run.
	config string
	// runsc is the path of the program.
	runsc string
}

// claimImage decides whether the container is restored. An image is used once: a container that finds a mark of an
// earlier use starts anew, and so does a Pod whose image cannot be used. What cannot be told is an error, and no use.
func (c *container) claimImage(ctx context.Context, of claim) error {
	annotations := of.annotations
	if !imageName.MatchString(annotations[imageAnnotation]) {
		return c.leave(ctx, "%q is not the name of a memory image", annotations[imageAnnotation])
	}
	if err := checkStore(annotations[storeAnnotation]); err != nil {
		return err
	}
	image := filepath.Join(imageStore, annotations["io.kubernetes.cri.sandbox-namespace"],
		annotations["io.kubernetes.cri.sandbox-name"], annotations[imageAnnotation])
	name := annotations["io.kubernetes.cri.container-name"]
	c.mark = mark{path: markPath(image, name), Pod: c.pod, Container: c.id, BeganMs: time.Now().UnixMilli()}
	if name == "" {
		return c.beginRestore(ctx, image, of)
	}
	isMarked, err := c.mark.exists()
	if err != nil {
		return err
	}
	if isMarked {
		return c.leaveUsed(ctx, image)
	}
	return c.joinRestore(ctx, image, name, of)
}

// leave lets the container start anew.
func (c *container) leave(ctx context.Context, why string, of ...any) error {
	log.G(ctx).Warnf("container %s starts anew: %s", c.id, fmt.Sprintf(why, of...))
	return nil
}

func (c *container) leaveUsed(ctx context.Context, image string) error {
	return c.leave(ctx, "memory image %s was used before, as %s says", image, c.mark.path)
}

// beginRestore claims the image for the Pod, if it is what this Pod may be restored from.
func (c *container) beginRestore(ctx context.Context, image string, of claim) error {
	used, isUsed, err := c.mark.found()
	if err != nil {
		return err
	}
	if isUsed && used.Pod == c.pod {
		return c.leaveUsed(ctx, image)
	}
	earlier, err := readRefusal(image)
	if err != nil {
		return err
	}
	if earlier.Pod != "" && earlier.Pod == c.pod {
		return c.leave(ctx, "an earlier sandbox of its Pod was refused: %s", earlier.Message)
	}
	described, err := readDescription(image)
	if isUnknown(err) && isWorthAnotherTry(image) {
		return err
	}
	refused, err := described.permits(c.pod, of.annotations, err)
	if err != nil {
		return err
	}
	if refused == nil && isUsed {
		refused = &refusal{Pod: c.pod, Reason: "AlreadyUsed", Message: fmt.Sprintf("the Pod %s has used the memory image", used.Pod)}
	}
	if refused != nil {
		return errors.Join(c.leave(ctx, "%v", refused), refused.write(image))
	}
	bad := described.check(image, "", of)
	c.mark.Containers = described.Containers
	isTaken, err := c.take(ctx, image, bad)
	if err != nil || !isTaken {
		return err
	}
	if bad != nil {
		return c.decline(ctx, image, bad)
	}
	c.image = image
	c.bytes = inBackground(func() error { return described.checkBytes(image) })
	return nil
}

// joinRestore claims the part of a container in an image that its Pod is being restored from. The mark of the Pod has the
// containers that were captured. It outlives the image, and a container that comes later, to debug the Pod, is not in it.
func (c *container) joinRestore(ctx context.Context, image, name string, of claim) error {
	ofPod, err := readMark(markPath(image, ""))
	if isUnknown(err) {
		return err
	}
	if err != nil || ofPod.Container != c.sandbox.id || !slices.Contains(ofPod.Containers, name) {
		return c.leave(ctx, "its Pod was not restored from memory image %s with this container", image)
	}
	if ofPod.Outcome == "restoring" {
		return fmt.Errorf("it is not known yet whether the Pod was restored from memory image %s", image)
	}
	if ofPod.Outcome != "restored" {
		return c.leave(ctx, "its Pod was not restored from memory image %s", image)
	}
	described, bad := readDescription(image)
	if bad == nil {
		bad = described.check(image, name, of)
	}
	isTaken, err := c.take(ctx, image, bad)
	if err != nil && !isWorthAnotherTry(image) {
		// The mark of the Pod is there, so its next sandbox starts anew.
		return c.refuse(image, err)
	}
	if err != nil || !isTaken {
		return err
	}
	if bad != nil {
		return c.refuse(image, bad)
	}
	c.image = image
	return nil
}

// take makes the mark of the container, whether the image is good or bad. It returns false if another container was first. A
// trouble that may pass is an error, and no use. So is a store that takes no mark: without one, a later sandbox of the Pod would
// go back to memory that is older than its own life. If it takes none for long, the controller replaces the Pod.
func (c *container) take(ctx context.Context, image string, bad error) (bool, error) {
	if isUnknown(bad) && isWorthAnotherTry(image) {
		return false, bad
	}
	isFirst, err := c.mark.claim()
	if err == nil {
		os.Remove(troubleElsewhere(image))
	}
	if err == nil && !isFirst {
		err = c.leaveUsed(ctx, image)
	}
	return isFirst, err
}

// permits returns a refusal if the controller has not permitted this Pod to be restored from this image. An error says that
// this cannot be told.
func (d description) permits(uid string, annotations map[string]string, unreadable error) (*refusal, error) {
	if unreadable != nil {
		return &refusal{Pod: uid, Reason: "ImageMissing", Message: fmt.Sprintf("the memory image cannot be read: %v", unreadable)}, nil
	}
	return permit{
		podUID:     uid,
		namespace:  annotations["io.kubernetes.cri.sandbox-namespace"],
		pod:        annotations["io.kubernetes.cri.sandbox-name"],
		sandboxUID: d.SandboxUID,
		image:      annotations[imageAnnotation],
		imageHash:  d.hash,
		runHash:    d.RunHash,
		runsc:      d.Runsc,
	}.verify(annotations[signatureAnnotation])
}

// decline has the whole Pod start anew. Nothing of it has been restored, so that is no error.
func (c *container) decline(ctx context.Context, image string, reason error) error {
	log.G(ctx).Warnf("container %s starts anew: cannot restore memory image %s: %v", c.id, image, reason)
	c.image = ""
	return c.mark.conclude("refused", reason)
}

// refuse marks the image. The container was captured and is not restored yet, so the rest of the Pod waits for it: the
// sentry ends too, if there is one.
func (c *container) refuse(image string, reason error) error {
	refused := fmt.Errorf("cannot restore memory image %s: %w", image, reason)
	_, _, sentry, err := c.sandbox.state()
	if err == nil {
		err = c.sandbox.end(sentry)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil // the container that holds the Pod together is not created yet
	}
	return errors.Join(refused, err, c.mark.conclude("refused", reason))
}

// inBackground begins work whose result is read later, or never.
func inBackground(work func() error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- work() }()
	return result
}
