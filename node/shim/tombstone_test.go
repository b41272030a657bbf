package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/api/runtime/task/v2"
)

func TestNoContainerOfACapturedPodIsCreated(t *testing.T) {
	n := newNode(t)
	n.bury("s1")
	for _, name := range []string{"", "app"} {
		calls, err := n.run(&gvisor{}, n.request("s1", name, ""))
		if err == nil || !strings.Contains(err.Error(), "uid-s1 is captured") || len(calls) != 0 {
			t.Errorf("container %q: gVisor got %q, %v", name, calls, err)
		}
	}
	n.wants("the next Pod", n.request("s2", "", "g1"), "create", "restore g1")
}

func TestAContainerThatWasCreatedBeforeTheCaptureIsNotStarted(t *testing.T) {
	n, next := newNode(t), &gvisor{}
	request := n.request("s1", "app", "")
	service, _ := n.open(next, request)
	n.bury("s1")
	if _, err := service.Start(inKubernetes, &task.StartRequest{ID: request.ID}); err == nil || len(next.calls) != 0 {
		t.Errorf("gVisor got %q, %v", next.calls, err)
	}
	os.RemoveAll(tombstones)
	if _, err := service.Start(inKubernetes, &task.StartRequest{ID: request.ID}); err != nil || len(next.calls) != 1 {
		t.Errorf("without its tombstone: gVisor got %q, %v", next.calls, err)
	}
}

func TestATombstoneThatCannotBeReadCountsAsOne(t *testing.T) {
	n := newNode(t)
	os.Symlink("loop", filepath.Join(n.folder, "loop"))
	tombstones = filepath.Join(n.folder, "loop")
	n.refuses("the container", n.request("s1", "", ""))
}

func TestAMarkSaysWhenTheUseBegan(t *testing.T) {
	n := newNode(t)
	before := time.Now().UnixMilli()
	n.run(&gvisor{}, n.request("s1", "", "g1"))
	found, err := readMark(markPath(n.image, ""))
	if err != nil || found.BeganMs < before || found.BeganMs > time.Now().UnixMilli() {
		t.Errorf("the mark says %d, %v", found.BeganMs, err)
	}
}

func TestATombstoneOfALaterTimeThanNowKeepsNoPodFromItsEnd(t *testing.T) {
	n := newNode(t)
	n.write("tombstones/uid-s1.json", `{"namespace":"shop","pod":"web","image":"g2"}`, 0o600)
	if !isBeingCaptured("uid-s1") {
		t.Error("a capture that has just begun does not count")
	}
	later := time.Now().Add(time.Hour)
	os.Chtimes(filepath.Join(tombstones, "uid-s1.json"), later, later)
	if isBeingCaptured("uid-s1") {
		t.Error("a clock that has jumped back keeps the Pod from its end")
	}
}
