package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/containerd/containerd/api/runtime/task/v2"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/protobuf/types"
	"github.com/containerd/log"
	"github.com/containerd/typeurl/v2"
	"gvisor.dev/gvisor/pkg/shim/v1/extension"
	"gvisor.dev/gvisor/pkg/shim/v1/proc"
	"gvisor.dev/gvisor/pkg/shim/v1/runsc"
	"gvisor.dev/gvisor/pkg/shim/v1/runtimeoptions"
)

// imageAnnotation asks for the memory of an earlier Pod. containerd passes it from the Pod to each of its containers.
const imageAnnotation = "hibernation.rouse.dev/image"

// newExtension is called once for each container, before gVisor creates it. Each container gets an extension, because
// each may be captured later.
func newExtension(ctx context.Context, next extension.TaskServiceExt, request *task.CreateTaskRequest) (extension.TaskServiceExt, error) {
	annotations, config, err := noteConfig(request.Bundle, request.ID)
	if err != nil {
		return nil, err
	}
	settings, err := settingsOf(request)
	if err != nil {
		return nil, err
	}
	namespace, _ := namespaces.Namespace(ctx)
	c := &container{TaskServiceExt: next, id: request.ID, exit: os.Exit}
	c.sandbox = sandbox{id: annotations["io.kubernetes.cri.sandbox-id"], root: filepath.Join(settings.Root, namespace)}
	c.pod = annotations["io.kubernetes.cri.sandbox-uid"]
	if err := refuseCaptured(c.pod); err != nil {
		return nil, err
	}
	if annotations[imageAnnotation] == "" {
		return c, nil
	}
	return c, c.claimImage(ctx, claim{annotations: annotations, config: config, runsc: settings.BinaryName})
}

// newPodExtension is called instead if a setting of gVisor, `grouping`, has one shim serve all containers of a Pod.
// That shim keeps one extension for all of them, which cannot tell them apart.
func newPodExtension(ctx context.Context, next extension.TaskServiceExt, request *task.CreateTaskRequest) (extension.TaskServiceExt, error) {
	annotations, _, err := noteConfig(request.Bundle, request.ID)
	if err != nil {
		return nil, err
	}
	if annotations[imageAnnotation] != "" {
		return nil, fmt.Errorf("the Pod asks for its memory; that needs gVisor's shim without `grouping`")
	}
	return newExtension(ctx, next, request)
}

// container is a container in gVisor. Calls without a method here go to gVisor alone.
type container struct {
	extension.TaskServiceExt
	id      string
	sandbox sandbox
	// pod is the UID of the Pod.
	pod string
	// sentry is the process id of the sentry, 0 before Create.
	sentry int
	// image is the folder to restore from; empty if the container starts anew.
	image string
	mark  mark
	// bytes says whether the files of the image are those that were captured; nil for all containers but the first.
	bytes <-chan error
	exit  func(code int)
}

// claim is what a container says of itself when it asks for its memory.
type claim struct {
	annotations map[string]string
	// config is the hash of what it would run.
	config string
	// runsc is the path of the program.
	runsc string
}

// claimImage decides whether the container is restored. An image is used once: a container that finds a mark of an
// earlier use starts anew, and so does a Pod whose image cannot be used.
func (c *container) claimImage(ctx context.Context, of claim) error {
	annotations := of.annotations
	if !imageName.MatchString(annotations[imageAnnotation]) {
		log.G(ctx).Warnf("container %s starts anew: %q is not the name of an image", c.id, annotations[imageAnnotation])
		return nil
	}
	image := filepath.Join(imageStore, annotations["io.kubernetes.cri.sandbox-namespace"],
		annotations["io.kubernetes.cri.sandbox-name"], annotations[imageAnnotation])
	name := annotations["io.kubernetes.cri.container-name"]
	if name != "" {
		ofPod, err := readMark(markPath(image, ""))
		if err != nil || ofPod.Container != c.sandbox.id || ofPod.Outcome != "restored" {
			log.G(ctx).Warnf("container %s starts anew: its Pod was not restored from image %s", c.id, image)
			return nil
		}
	}
	described, unreadable := readDescription(image)
	if name == "" {
		if refused := described.permits(c.pod, annotations, unreadable); refused != nil {
			log.G(ctx).Warnf("container %s starts anew: %v", c.id, refused)
			return refused.write(image)
		}
	}
	c.mark = mark{path: markPath(image, name), Pod: c.pod, Container: c.id, BeganMs: time.Now().UnixMilli()}
	isFirst, err := c.mark.claim()
	if err != nil {
		return c.refuse(image, err)
	}
	if !isFirst {
		log.G(ctx).Warnf("container %s starts anew: image %s was used before, as %s says", c.id, image, c.mark.path)
		return nil
	}
	err = unreadable
	if err == nil {
		err = described.check(image, name, of.config, of.runsc)
	}
	if err != nil && name != "" {
		return c.refuse(image, err)
	}
	if err != nil {
		return c.decline(ctx, image, err)
	}
	c.image = image
	if name == "" {
		c.bytes = inBackground(func() error { return described.checkBytes(image) })
	}
	return nil
}

// permits returns a refusal if the controller has not permitted this Pod to be restored from this image.
func (d description) permits(uid string, annotations map[string]string, unreadable error) *refusal {
	if unreadable != nil {
		return &refusal{Pod: uid, Reason: "ImageMissing", Message: fmt.Sprintf("the image cannot be read: %v", unreadable)}
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

// inBackground begins work whose result is read later, or never.
func inBackground(work func() error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- work() }()
	return result
}

// decline has the whole Pod start anew. Nothing of it has been restored, so that is no error.
func (c *container) decline(ctx context.Context, image string, reason error) error {
	log.G(ctx).Warnf("container %s starts anew: cannot restore image %s: %v", c.id, image, reason)
	c.image = ""
	return c.mark.conclude("refused", reason)
}

// refuse marks the image. The rest of the Pod waits for this container, so its sentry ends too, if there is one.
func (c *container) refuse(image string, reason error) error {
	refused := fmt.Errorf("cannot restore image %s: %w", image, reason)
	_, _, sentry, err := c.sandbox.state()
	if err == nil {
		err = c.sandbox.end(sentry)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil // the container that holds the Pod together is not created yet
	}
	return errors.Join(refused, err, c.mark.conclude("refused", reason))
}

// Create creates the container, and remembers its sentry. If it fails, the image counts as used: the rest of the Pod
// would wait for this container for ever.
func (c *container) Create(ctx context.Context, request *task.CreateTaskRequest) (*task.CreateTaskResponse, error) {
	response, err := c.TaskServiceExt.Create(ctx, request)
	if err == nil {
		c.sentry = int(response.Pid)
		return response, nil
	}
	if c.image == "" {
		return nil, err
	}
	if _, _, sentry, found := c.sandbox.state(); found == nil {
		c.sentry = sentry
	}
	return nil, c.giveUp(ctx, err)
}

// Start restores or starts the container, or starts a process that was added to it by exec.
func (c *container) Start(ctx context.Context, request *task.StartRequest) (*task.StartResponse, error) {
	// The capture may have begun after the container was created.
	if err := refuseCaptured(c.pod); err != nil && request.ExecID == "" {
		return nil, err
	}
	if c.image == "" || request.ID != c.id || request.ExecID != "" {
		return c.TaskServiceExt.Start(ctx, request)
	}
	if c.bytes != nil {
		if err := <-c.bytes; err != nil {
			return c.startAnew(ctx, request, err)
		}
	}
	began := time.Now()
	conf := extension.RestoreConfig{ImagePath: c.image}
	response, err := c.Restore(ctx, &extension.RestoreRequest{Start: request, Conf: conf})
	if err == nil {
		err = c.mark.conclude("restored", nil)
	}
	if err != nil {
		return nil, c.giveUp(ctx, err)
	}
	log.G(ctx).Infof("container %s was restored from image %s in %s", c.id, c.image, time.Since(began))
	return response, nil
}

// startAnew starts the container that holds the Pod together. The others find its mark, and start anew too.
func (c *container) startAnew(ctx context.Context, request *task.StartRequest, reason error) (*task.StartResponse, error) {
	if err := c.decline(ctx, c.image, reason); err != nil {
		return nil, err
	}
	return c.TaskServiceExt.Start(ctx, request)
}

// timeToAnswer is what a shim that gives up has to send its last answer.
const timeToAnswer = 50 * time.Millisecond

// giveUp ends the sentry and this shim after a failed restore. With an error alone, the Pod would stay half made.
func (c *container) giveUp(ctx context.Context, reason error) error {
	failed := fmt.Errorf("the restore from image %s failed: %w", c.image, reason)
	failed = errors.Join(failed, c.mark.conclude("failed", reason))
	if c.sentry != 0 {
		failed = errors.Join(failed, c.sandbox.end(c.sentry))
	}
	log.G(ctx).Errorf("container %s: %v", c.id, failed)
	time.AfterFunc(timeToAnswer, func() { c.exit(1) })
	return failed
}

// Kill signals a process. In a paused Pod no process can react, so there it ends the whole Pod: but not while its memory
// is being written. A probe that fails meanwhile would end the capture. Who wants to kill it tries again.
func (c *container) Kill(ctx context.Context, request *task.KillRequest) (*types.Empty, error) {
	if request.ExecID != "" {
		return c.TaskServiceExt.Kill(ctx, request)
	}
	if isBeingCaptured(c.pod) && c.sandbox.isPaused() {
		return nil, fmt.Errorf("the memory of the Pod %s is being written, try again later", c.pod)
	}
	hasEnded, err := c.sandbox.endIfPaused()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		log.G(ctx).Warnf("container %s: cannot tell whether its Pod is paused: %v", c.id, err)
	}
	if hasEnded && err == nil {
		log.G(ctx).Infof("container %s: its Pod was paused, and its sentry has ended", c.id)
		return &types.Empty{}, nil
	}
	return c.TaskServiceExt.Kill(ctx, request)
}

// Delete deletes the container. While its sentry ends, gVisor would fail, and containerd tries again only after seconds.
func (c *container) Delete(ctx context.Context, request *task.DeleteRequest) (*task.DeleteResponse, error) {
	if request.ExecID == "" && c.sentry != 0 {
		waitForEnd(c.sentry)
	}
	return c.TaskServiceExt.Delete(ctx, request)
}

// settingsOf reads gVisor's settings as gVisor does.
func settingsOf(request *task.CreateTaskRequest) (runsc.Options, error) {
	settings := runsc.Options{Root: proc.RunscRoot, BinaryName: "runsc"}
	if request.Options == nil {
		return settings, nil
	}
	var options runtimeoptions.Options
	if err := typeurl.UnmarshalTo(request.Options, &options); err != nil {
		return settings, fmt.Errorf("runtime options: %w", err)
	}
	if options.GetConfigPath() == "" {
		return settings, nil
	}
	_, err := toml.DecodeFile(options.GetConfigPath(), &settings)
	return settings, err
}
