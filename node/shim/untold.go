package main

import (
	"context"
	"syscall"
	"time"

	"github.com/containerd/containerd/api/runtime/task/v2"
	tasktypes "github.com/containerd/containerd/api/types/task"
	"github.com/containerd/log"
)

// lookAgainAfter, untoldLooks and mostLooks bound how a shim waits until gVisor tells the end of its container: a second is
// longer than gVisor takes, and a minute is longer than a kill takes.
var lookAgainAfter = 100 * time.Millisecond

const untoldLooks, mostLooks = 10, 600

// shutdownWithin is when a shim ends by itself after its container was deleted. containerd tells it to at once, unless it was
// killed in between: then it never does.
var shutdownWithin = time.Minute

// mayStayUntold tells whether gVisor may not tell the end of a container that is killed. It learns of an end only from the
// start of the container on. So if containerd is killed between both, the removal of the Pod would wait for ever.
func (c *container) mayStayUntold(request *task.KillRequest) bool {
	return request.ExecID == "" && request.Signal == uint32(syscall.SIGKILL) && !c.isShared && !c.hasStarted.Load()
}

// endIfUntold ends this shim if its container has ended and gVisor does not tell it. The end of its shim tells containerd.
func (c *container) endIfUntold(ctx context.Context) {
	if !c.isLooking.CompareAndSwap(false, true) {
		return
	}
	defer c.isLooking.Store(false)
	for looks, untold := 0, 0; looks < mostLooks && !c.hasStarted.Load(); looks++ {
		if !c.isUntold(ctx) {
			untold = 0
		} else if untold++; untold == untoldLooks {
			log.G(ctx).Warnf("container %s was killed before it was started, and gVisor does not tell its end; ending its shim", c.id)
			c.exit(1)
			return
		}
		time.Sleep(lookAgainAfter)
	}
}

func (c *container) isUntold(ctx context.Context) bool {
	state, err := c.State(ctx, &task.StateRequest{ID: c.id})
	if err != nil || state.Status != tasktypes.Status_STOPPED {
		return false
	}
	return state.ExitedAt == nil || state.ExitedAt.AsTime().IsZero()
}
