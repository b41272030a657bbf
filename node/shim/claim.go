package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// leaveOwn is for another sandbox of the Pod that the mark names. Until the earlier one has come to its end, it may still take its mark
// back. This one lives, so no later one may go on from the memory: the refusal says so, whatever becomes of the mark.
func (c *container) leaveOwn(ctx context.Context, image string, used mark) error {
	if used.Outcome == "restoring" {
		message := fmt.Sprintf("the earlier sandbox %s of the Pod was to be restored from the memory image", used.Container)
		if err := (refusal{Pod: c.pod, Reason: "AlreadyUsed", Message: message}).write(image); err != nil {
			return err
		}
	}
	return c.leaveUsed(ctx, image)
}

// beginRestore claims the image for the Pod, if it is what this Pod may be restored from.
func (c *container) beginRestore(ctx context.Context, image string, of claim) error {
	used, isUsed, err := c.mark.found()
	if err != nil {
		return err
	}
	if isUsed && used.Pod == c.pod {
		return c.leaveOwn(ctx, image, used)
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
		refused = c.isUsedBy(used)
	}
	if refused != nil {
		return errors.Join(c.leave(ctx, "%v", refused), refused.write(image))
	}
	bad := described.check(image, "", of)
	c.mark.Containers = described.Containers
	isTaken, err := c.take(image, bad, c.mark.claim)
	if err != nil {
		return err
	}
	if !isTaken {
		return c.loseClaim(ctx, image)
	}
	if bad != nil {
		return c.decline(ctx, image, bad)
	}
	c.image = image
	c.bytes = inBackground(func() error { return described.checkBytes(image) })
	return nil
}

// loseClaim is for a Pod whose image was used between the look at its mark and the claim, as by the agent that needs the room.
func (c *container) loseClaim(ctx context.Context, image string) error {
	used, isUsed, err := c.mark.found()
	if err != nil {
		return err
	}
	if isUsed && used.Pod == c.pod {
		return c.leaveOwn(ctx, image, used)
	}
	refused := c.isUsedBy(used)
	return errors.Join(c.leave(ctx, "%v", refused), refused.write(image))
}

func (c *container) isUsedBy(used mark) *refusal {
	return &refusal{Pod: c.pod, Reason: "AlreadyUsed", Message: fmt.Sprintf("the Pod %s has used the memory image", used.Pod)}
}

// take makes the mark of the container, whether the image is good or bad. It returns false if another container was first. A
// trouble that may pass is an error, and no use. So is a store that takes no mark: without one, a later sandbox of the Pod would
// go back to memory that is older than its own life. If it takes none for long, the controller replaces the Pod.
func (c *container) take(image string, bad error, claim func() (bool, error)) (bool, error) {
	if isUnknown(bad) && isWorthAnotherTry(image) {
		return false, bad
	}
	isFirst, err := claim()
	if err == nil {
		os.Remove(troubleElsewhere(image))
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

// inBackground begins work whose result is read later, or never.
func inBackground(work func() error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- work() }()
	return result
}
