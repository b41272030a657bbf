package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/containerd/containerd/api/runtime/task/v2"
)

// ofFirst is the request for a sandbox of the Pod whose first sandbox is s1.
func (n node) ofFirst(sandbox string) *task.CreateTaskRequest {
	n.Helper()
	request := n.request(sandbox, "", "g1")
	n.edit(request, n.sign(n.permit(sandbox)), n.sign(n.permit("s1")))
	n.edit(request, "uid-"+sandbox, "uid-s1")
	return request
}

func TestNoSandboxOfAPodIsRestoredAfterOneThatLivedBesideAFirstThatFailedLate(t *testing.T) {
	n := newNode(t)
	first := n.request("s1", "", "g1")
	service, exits := n.open(&gvisor{err: errOfGvisor}, first)
	n.wants("the second, while the first hangs", n.ofFirst("s2"), "create", "start")
	if _, err := service.Create(inKubernetes, first); err == nil {
		t.Error("containerd gets no error")
	}
	<-exits
	if n.isMarked("") {
		t.Error("nothing was restored, and the image counts as used")
	}
	n.wants("the third", n.ofFirst("s3"), "create", "start")
	if got := n.refused(); got.Pod != "uid-s1" || got.Reason != "AlreadyUsed" {
		t.Errorf("the refusal says %+v", got)
	}
	n.wants("the next Pod", n.request("s4", "", "g1"), "create", "restore g1")
}

func TestASandboxWhoseRestoreHasEndedNeedsNoRoomOnTheDiskToStartAnew(t *testing.T) {
	n := newNode(t)
	fill, _ := n.smallDisk()
	n.run(&gvisor{}, n.request("s1", "", "g1"))
	fill()
	n.wants("the second sandbox", n.ofFirst("s2"), "create", "start")
}

func TestADeletionEndsTheWaitForTheBytesOfAnImageAndIsNoUse(t *testing.T) {
	n := newNode(t)
	request := n.request("s1", "", "g1")
	next := &gvisor{}
	service, exits := n.open(next, request)
	service.Create(inKubernetes, request)
	service.bytes = make(chan error) // a disk that never answers
	failed := make(chan error, 1)
	go func() { _, err := service.Start(inKubernetes, &task.StartRequest{ID: "s1"}); failed <- err }()
	if _, err := service.Delete(inKubernetes, &task.DeleteRequest{ID: "s1"}); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil {
		t.Error("containerd gets no error")
	}
	<-exits
	n.wants("the next sandbox", n.ofFirst("s2"), "create", "restore g1")
}

func TestAPodIsGoneBeforeItsMarkIsTakenBack(t *testing.T) {
	n := newNode(t)
	sentry := n.startSentry("s1", "running")
	request := n.request("s1", "", "g1")
	service, exits := n.open(&gvisor{sentry: sentry.Process.Pid}, request)
	service.Create(inKubernetes, request)
	bytes := make(chan error, 1)
	bytes <- &os.PathError{Op: "read", Path: "pages.img", Err: syscall.EIO}
	service.bytes = bytes
	seen := make(chan bool)
	go func() {
		for n.isMarked("") { // without a pause: the sentry ends fast
		}
		seen <- service.sandbox.isSentry(sentry.Process.Pid)
	}()
	service.Start(inKubernetes, &task.StartRequest{ID: "s1"})
	if <-seen {
		t.Error("the sentry was there, and its mark was not")
	}
	<-exits
}
