package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/containerd/containerd/api/runtime/task/v2"
)

// again is the request for another container of the same name in the same sandbox.
func (n node) again(name string) *task.CreateTaskRequest {
	n.Helper()
	request := n.request("s1", name, "g1")
	request.ID += "-1"
	return request
}

// claimed has a container of the sandbox created, and not started.
func (n node) claimed(name string) *container {
	n.Helper()
	request := n.request("s1", name, "g1")
	service, _ := n.open(&gvisor{}, request)
	if _, err := service.Create(inKubernetes, request); err != nil {
		n.Fatal(err)
	}
	return service
}

func TestAContainerThatWasCreatedAndNeverStartedLeavesItsPartOfTheMemoryToTheNext(t *testing.T) {
	n := newNode(t)
	n.wants("the sandbox", n.request("s1", "", "g1"), "create", "restore g1")
	n.claimed("app")
	n.wants("the next attempt", n.again("app"), "create", "restore g1")
	n.wants("the other container", n.request("s1", "side", "g1"), "create", "restore g1")
	for _, name := range []string{"", "app", "side"} {
		if got, _ := n.outcome(name); got != "restored" {
			t.Errorf("the mark of container %q says %q", name, got)
		}
	}
}

func TestARestoredContainerThatIsMadeAgainBeforeTheRestOfItsPodEndsTheSentry(t *testing.T) {
	n := newNode(t)
	sentry := n.startSentry("s1", "running")
	n.run(&gvisor{}, n.request("s1", "", "g1"))
	n.run(&gvisor{}, n.request("s1", "app", "g1"))
	n.refuses("gVisor has counted it", n.again("app"))
	n.wantsKilled(sentry)
	if got, reason := n.outcome("app"); got != "refused" || reason == "" {
		t.Errorf("the mark says %q, %q", got, reason)
	}
	n.wants("in the next sandbox of the Pod", n.request("s2", "app", "g1"), "create", "start")
}

func TestAPodWhoseLastRestoreIsNotWrittenDownYetGetsItsCrashedContainersBack(t *testing.T) {
	n := newNode(t)
	sentry := n.startSentry("s1", "running")
	n.run(&gvisor{}, n.request("s1", "", "g1"))
	n.run(&gvisor{}, n.request("s1", "app", "g1"))
	n.claimed("side")
	n.write("k8s.io/s1-side_sandbox:s1.state", `{"status":"running"}`, 0o600)
	n.wants("the crashed container", n.again("app"), "create", "start")
	if !n.lives(sentry) {
		t.Error("the sentry of the Pod has ended")
	}
}

func TestATornStateFileDoesNotKeepASentryFromItsEnd(t *testing.T) {
	n := newNode(t)
	sentry := n.startSentry("s1", "running")
	n.run(&gvisor{}, n.request("s1", "", "g1"))
	n.write("k8s.io/s1_sandbox:s1.state", `{"id":`, 0o600)
	request := n.request("s1", "app", "g1")
	n.edit(request, "run", "walk")
	n.refuses("a container that runs something else", request)
	n.wantsKilled(sentry)
}

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
