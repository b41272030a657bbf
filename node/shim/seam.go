package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
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
	settings, err := settingsOf(request)
	if err != nil {
		return nil, err
	}
	annotations, config, err := noteConfig(request.Bundle, request.ID, settings.BinaryName)
	if err != nil {
		return nil, err
	}
	namespace, _ := namespaces.Namespace(ctx)
	c := &container{TaskServiceExt: next, id: request.ID, exit: os.Exit, deleted: make(chan struct{})}
	c.sandbox = sandbox{id: annotations["io.kubernetes.cri.sandbox-id"], root: filepath.Join(settings.Root, namespace)}
	c.pod = annotations["io.kubernetes.cri.sandbox-uid"]
	c.mayHibernate = annotations[runHashAnnotation] != ""
	if c.mayHibernate {
		if err := inTime(awaitStore); err != nil {
			return nil, err
		}
	}
	if err := c.refuseCaptured(); err != nil {
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
	settings, err := settingsOf(request)
	if err != nil {
		return nil, err
	}
	annotations, _, err := noteConfig(request.Bundle, request.ID, settings.BinaryName)
	if err != nil {
		return nil, err
	}
	if annotations[imageAnnotation] != "" {
		return nil, fmt.Errorf("the Pod asks for its memory; that needs gVisor's shim without `grouping`")
	}
	service, err := newExtension(ctx, next, request)
	if c, isOurs := service.(*container); isOurs && c != nil {
		c.isShared = true
	}
	return service, err
}

// container is a container in gVisor. Calls without a method here go to gVisor alone.
type container struct {
	extension.TaskServiceExt
	id      string
	sandbox sandbox
	// pod is the UID of the Pod.
	pod string
	// mayHibernate: without it the Pod is never captured, so nothing of it depends on the store.
	mayHibernate bool
	// sentry is the process id of the sentry, 0 before Create.
	sentry int
	// image is the folder to restore from; empty if the container starts anew.
	image string
	mark  mark
	// bytes says whether the files of the image are those that were captured; nil for all containers but the first.
	bytes <-chan error
	// deleted is closed when containerd deletes the container.
	deleted     chan struct{}
	noteDeleted sync.Once
	exit        func(code int)
	// isShared: the shim has other containers too, so it must not end with this one.
	isShared bool
	// hasStarted tells whether gVisor has started or restored the container.
	hasStarted atomic.Bool
	// isLooking: one look at the end of the container is enough.
	isLooking atomic.Bool
	// killing is held while a kill is noted: another one must not count on a note that is taken back.
	killing sync.Mutex
	// isToldToEnd: a kill was not refused, so its note stays. It is read and set while killing is held.
	isToldToEnd bool
}

// Create creates the container, and remembers its sentry. If it fails for the container that holds the Pod together, nothing
// is restored yet. For another one, the image counts as used: the rest of the Pod would wait for it for ever.
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
	if c.bytes != nil {
		return nil, c.tryLater(ctx, err)
	}
	return nil, c.giveUp(ctx, err)
}

// Start restores or starts the container, or starts a process that was added to it by exec.
func (c *container) Start(ctx context.Context, request *task.StartRequest) (*task.StartResponse, error) {
	// The capture may have begun after the container was created.
	if request.ExecID == "" {
		if err := c.refuseCaptured(); err != nil {
			return nil, err
		}
	}
	response, err := c.startOrRestore(ctx, request)
	if err == nil && request.ExecID == "" {
		c.hasStarted.Store(true)
	}
	return response, err
}

func (c *container) startOrRestore(ctx context.Context, request *task.StartRequest) (*task.StartResponse, error) {
	if c.image == "" || request.ID != c.id || request.ExecID != "" {
		return c.TaskServiceExt.Start(ctx, request)
	}
	if c.bytes != nil {
		if err := c.awaitBytes(); err == errDeleted || isUnknown(err) && isWorthAnotherTry(c.image) {
			return nil, c.tryLater(ctx, err)
		} else if err != nil {
			return c.startAnew(ctx, request, err)
		}
	}
	began := time.Now()
	conf := extension.RestoreConfig{ImagePath: c.image}
	response, err := c.Restore(ctx, &extension.RestoreRequest{Start: request, Conf: conf})
	if err != nil {
		return nil, c.giveUp(ctx, err)
	}
	c.noteRestored(ctx)
	log.G(ctx).Infof("container %s was restored from memory image %s in %s", c.id, c.image, time.Since(began))
	return response, nil
}

var errDeleted = errors.New("the container was deleted while its memory image was read")

// awaitBytes waits for the check of the bytes, however slow the disk is, or until containerd does not want the container any more. That
// is no answer about the image.
func (c *container) awaitBytes() error {
	select {
	case <-c.deleted:
		return errDeleted
	case err := <-c.bytes:
		return err
	}
}

// noteAgainAfter and noteTries bound how long a shim tries to write down that a restore went well.
const noteTries = 3_600

var noteAgainAfter = time.Second

// noteRestored never harms what was restored: if the disk takes no write now, it tries again. Until then the other containers
// of the Pod are not created.
func (c *container) noteRestored(ctx context.Context) {
	err := c.mark.conclude("restored", nil)
	if err == nil {
		return
	}
	log.G(ctx).Warnf("container %s was restored, which cannot be written down yet: %v", c.id, err)
	noted := c.mark
	go func() {
		for tries := 0; err != nil && tries < noteTries; tries++ {
			time.Sleep(noteAgainAfter)
			err = noted.conclude("restored", nil)
		}
	}()
}

// startAnew starts the container that holds the Pod together. The others find its mark, and start anew too.
func (c *container) startAnew(ctx context.Context, request *task.StartRequest, reason error) (*task.StartResponse, error) {
	if err := c.decline(ctx, c.image, reason); err != nil {
		return nil, c.endAll(ctx, err)
	}
	return c.TaskServiceExt.Start(ctx, request)
}

// Kill signals a process. In a paused Pod no process can react, so there it ends the whole Pod: but not while its memory
// is being written. A probe that fails meanwhile would end the capture. Who wants to kill it tries again.
func (c *container) Kill(ctx context.Context, request *task.KillRequest) (*types.Empty, error) {
	if request.ExecID != "" {
		return c.TaskServiceExt.Kill(ctx, request)
	}
	isPaused, err := c.noteAndLook(ctx)
	if err != nil {
		return nil, err
	}
	if isPaused {
		hasEnded, err := c.sandbox.endIfPaused()
		if hasEnded && err == nil {
			log.G(ctx).Infof("container %s: its Pod was paused, and its sentry has ended", c.id)
			return &types.Empty{}, nil
		}
		if err != nil {
			log.G(ctx).Warnf("container %s: cannot end its paused Pod: %v", c.id, err)
		}
	}
	if hasEnded, err := c.endIfTorn(ctx); hasEnded || err != nil {
		return &types.Empty{}, err
	}
	response, err := c.TaskServiceExt.Kill(ctx, request)
	if c.mayStayUntold(request) {
		go c.endIfUntold(context.WithoutCancel(ctx))
	}
	return response, err
}

// noteAndLook writes down that the container is told to end, and then looks whether its Pod is paused. The node agent pauses
// the Pod, and then looks for such notes. So at least one of both sees the other. An error is a kill that must not be now: it
// leaves no note, because no signal comes from it.
func (c *container) noteAndLook(ctx context.Context) (isPaused bool, err error) {
	c.killing.Lock()
	defer c.killing.Unlock()
	isNew, noteErr := c.noteKill()
	isPaused, err = c.sandbox.isPaused()
	isUnclear := err != nil && !errors.Is(err, os.ErrNotExist)
	if isUnclear {
		log.G(ctx).Warnf("container %s: cannot tell whether its Pod is paused: %v", c.id, err)
	}
	if (isPaused || isUnclear || noteErr != nil) && c.isBeingCaptured() {
		refused := fmt.Errorf("the memory of the Pod %s is being written, try again later", c.pod)
		if isNew && !c.isToldToEnd {
			return false, errors.Join(refused, c.forgetKill())
		}
		return false, errors.Join(refused, noteErr)
	}
	c.isToldToEnd = true
	if noteErr != nil {
		log.G(ctx).Warnf("container %s: cannot note that it was told to end: %v", c.id, noteErr)
	}
	return isPaused, nil
}

// Delete deletes the container. While its sentry ends, gVisor would fail, and containerd tries again only after seconds.
func (c *container) Delete(ctx context.Context, request *task.DeleteRequest) (*task.DeleteResponse, error) {
	if request.ExecID == "" {
		c.prepareDelete(ctx)
	}
	response, err := c.TaskServiceExt.Delete(ctx, request)
	if request.ExecID == "" && err == nil {
		if err := c.forgetKill(); err != nil {
			log.G(ctx).Warnf("container %s: cannot forget that it was told to end: %v", c.id, err)
		}
	}
	if request.ExecID == "" && err == nil && !c.isShared {
		time.AfterFunc(shutdownWithin, func() { c.exit(0) })
	}
	return response, err
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
