package main

import (
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
