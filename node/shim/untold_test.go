package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/api/runtime/task/v2"
	tasktypes "github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/pkg/protobuf"
)

func lookFast(t *testing.T) {
	before := lookAgainAfter
	lookAgainAfter = time.Millisecond
	t.Cleanup(func() { lookAgainAfter = before })
}

func stoppedAt(when time.Time) *task.StateResponse {
	return &task.StateResponse{Status: tasktypes.Status_STOPPED, ExitedAt: protobuf.ToTimestamp(when)}
}

func TestAContainerKilledBeforeItsStartEndsItsShimIfGvisorDoesNotTellItsEnd(t *testing.T) {
	lookFast(t)
	n, next := newNode(t), &gvisor{state: stoppedAt(time.Time{})}
	request := n.request("s1", "", "")
	service, exits := n.open(next, request)
	service.Create(inKubernetes, request)
	service.Kill(inKubernetes, &task.KillRequest{ID: request.ID, Signal: uint32(syscall.SIGKILL)})
	select {
	case code := <-exits:
		if code == 0 {
			t.Error("the shim ended as if all were well")
		}
	case <-time.After(20 * time.Second):
		t.Error("the shim goes on, and containerd waits for ever")
	}
}

func TestAShimGoesOnIfGvisorTellsTheEndOrTheContainerHasNotEnded(t *testing.T) {
	lookFast(t)
	states := map[string]*task.StateResponse{
		"told":    stoppedAt(time.Unix(1_790_000_000, 0)),
		"created": {Status: tasktypes.Status_CREATED},
		"unknown": nil,
	}
	for name, state := range states {
		n := newNode(t)
		service, _ := n.open(&gvisor{state: state}, n.request("s1", "", ""))
		service.exit = func(int) { t.Errorf("%s: the shim ends", name) }
		service.endIfUntold(inKubernetes)
	}
}

func TestOnlyAKillOfAContainerThatHasNotStartedMayStayUntold(t *testing.T) {
	n := newNode(t)
	request := n.request("s1", "", "")
	kill := &task.KillRequest{ID: request.ID, Signal: uint32(syscall.SIGKILL)}
	service, _ := n.open(&gvisor{}, request)
	if !service.mayStayUntold(kill) {
		t.Error("the kill before the start may not")
	}
	if service.mayStayUntold(&task.KillRequest{ID: request.ID, Signal: uint32(syscall.SIGTERM)}) {
		t.Error("another signal may")
	}
	if service.mayStayUntold(&task.KillRequest{ID: request.ID, ExecID: "shell", Signal: kill.Signal}) {
		t.Error("a process that was added may")
	}
	service.Start(inKubernetes, &task.StartRequest{ID: request.ID})
	if service.mayStayUntold(kill) {
		t.Error("the kill after the start may")
	}
	shared, err := newPodExtension(inKubernetes, &gvisor{}, n.request("s2", "", ""))
	if err != nil || shared.(*container).mayStayUntold(kill) {
		t.Errorf("one of several containers of a shim may; %v", err)
	}
}

func TestAShimEndsSomeTimeAfterItsContainerWasDeletedIfContainerdDoesNotEndIt(t *testing.T) {
	before := shutdownWithin
	shutdownWithin = time.Millisecond
	t.Cleanup(func() { shutdownWithin = before })
	n := newNode(t)
	request := n.request("s1", "", "")
	service, exits := n.open(&gvisor{}, request)
	service.Create(inKubernetes, request)
	service.Delete(inKubernetes, &task.DeleteRequest{ID: request.ID})
	select {
	case code := <-exits:
		if code != 0 {
			t.Errorf("the shim ended with %d", code)
		}
	case <-time.After(20 * time.Second):
		t.Error("the shim goes on for ever")
	}
}
