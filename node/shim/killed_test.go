package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/api/runtime/task/v2"
)

// capture writes the tombstone of a Pod whose memory is being written.
func (n node) capture(sandbox string) {
	n.Helper()
	n.write("tombstones/uid-"+sandbox+".json", `{"namespace":"shop","pod":"web","image":"g2"}`, 0o600)
}

func isNoted(id string) bool {
	_, err := os.Lstat(killedFile("uid-s1", id))
	return err == nil
}

// expectNoKillDuringCapture kills a container of s1 during a capture, which must not reach gVisor, and then without one.
func (n node) expectNoKillDuringCapture(service *container, next *gvisor) {
	n.Helper()
	request := &task.KillRequest{ID: "s1-app", Signal: 15}
	n.capture("s1")
	if _, err := service.Kill(inKubernetes, request); err == nil || len(next.calls) != 0 {
		n.Errorf("during the capture: gVisor got %q, %v", next.calls, err)
	}
	os.RemoveAll(tombstones)
	if _, err := service.Kill(inKubernetes, request); err != nil || len(next.calls) != 1 {
		n.Errorf("without a capture: gVisor got %q, %v", next.calls, err)
	}
}

func TestAKillIsNotedBeforeTheShimLooksWhetherThePodIsPaused(t *testing.T) {
	n, next := newNode(t), &gvisor{}
	service, _ := n.open(next, n.request("s1", "app", ""))
	state := filepath.Join(n.folder, "k8s.io", "s1_sandbox:s1.state")
	os.MkdirAll(filepath.Dir(state), 0o700)
	if err := syscall.Mkfifo(state, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := service.Kill(inKubernetes, &task.KillRequest{ID: "s1-app", Signal: 15})
		done <- err
	}()
	look, err := os.OpenFile(state, os.O_WRONLY, 0) // returns when the shim looks
	if err != nil {
		t.Fatal(err)
	}
	if !isNoted("s1-app") {
		t.Error("the shim looks before it notes")
	}
	n.capture("s1")
	os.Remove(state)
	look.WriteString(`{"status":"paused","sandbox":{"pid":0}}`)
	look.Close()
	if err := <-done; err == nil || len(next.calls) != 0 {
		t.Errorf("gVisor got %q, %v", next.calls, err)
	}
	if isNoted("s1-app") {
		t.Error("a kill that was refused leaves a note")
	}
}

func TestARefusedKillLeavesTheNoteOfAnEarlierOne(t *testing.T) {
	n, next := newNode(t), &gvisor{}
	service, _ := n.open(next, n.request("s1", "app", ""))
	n.startSentry("s1", "running")
	request := &task.KillRequest{ID: "s1-app", Signal: 15}
	service.Kill(inKubernetes, request)
	n.startSentry("s1", "paused")
	n.capture("s1")
	if _, err := service.Kill(inKubernetes, request); err == nil || !slices.Equal(next.calls, []string{"kill"}) {
		t.Errorf("gVisor got %q, %v", next.calls, err)
	}
	if !isNoted("s1-app") {
		t.Error("the note of the signal that was sent is gone")
	}
}

func TestAKillThatCannotBeNotedIsRefusedWhileTheMemoryIsBeingWritten(t *testing.T) {
	n, next := newNode(t), &gvisor{}
	service, _ := n.open(next, n.request("s1", "app", ""))
	n.startSentry("s1", "running")
	n.write("killed", "not a folder, so there is no place for a note", 0o600)
	n.expectNoKillDuringCapture(service, next)
}

func TestAKillIsRefusedIfNobodyKnowsWhetherThePodIsPausedWhileItsMemoryIsBeingWritten(t *testing.T) {
	n, next := newNode(t), &gvisor{}
	service, _ := n.open(next, n.request("s1", "app", ""))
	n.write("k8s.io/s1_sandbox:s1.state", `{"status":"pau`, 0o600)
	n.expectNoKillDuringCapture(service, next)
}

func TestARefusedKillWhoseNoteComesLateTakesItBack(t *testing.T) {
	n, next := newNode(t), &gvisor{}
	service, _ := n.open(next, n.request("s1", "app", ""))
	n.startSentry("s1", "running")
	n.capture("s1")
	hanging, noted := make(chan struct{}), make(chan struct{})
	beforeLook := longestLook
	longestLook, makeNote = 200*time.Millisecond, func(pod, container string) (bool, error) {
		<-hanging
		defer close(noted)
		return noteKill(pod, container)
	}
	t.Cleanup(func() { longestLook, makeNote = beforeLook, noteKill })
	request := &task.KillRequest{ID: "s1-app", Signal: 15}
	if _, err := service.Kill(inKubernetes, request); !errors.Is(err, errSilent) || len(next.calls) != 0 {
		t.Errorf("gVisor got %q, %v", next.calls, err)
	}
	close(hanging)
	<-noted
	for tries := 0; isNoted("s1-app"); tries++ {
		if tries == 500 {
			t.Fatal("a kill that was refused leaves a note")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestALateNoteStaysIfAnotherKillWasNotRefused(t *testing.T) {
	n := newNode(t)
	service, _ := n.open(&gvisor{}, n.request("s1", "app", ""))
	n.startSentry("s1", "running")
	service.Kill(inKubernetes, &task.KillRequest{ID: "s1-app", Signal: 15})
	service.takeLateNoteBack(true)
	if !isNoted("s1-app") {
		t.Error("the note of the signal that was sent is gone")
	}
}
