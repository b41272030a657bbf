package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/api/runtime/task/v2"
)

func TestKillEndsThePausedPodAndCorrectsItsState(t *testing.T) {
	n := newNode(t)
	sentry, next := n.startSentry("s1", "paused"), &gvisor{}
	service, _ := n.open(next, n.request("s1", "app", ""))
	if _, err := service.Kill(inKubernetes, &task.KillRequest{ID: "s1-app", Signal: 15}); err != nil || len(next.calls) != 0 {
		t.Errorf("got %v, and gVisor %q", err, next.calls)
	}
	n.wantsKilled(sentry)
	fields, status, pid, err := sandbox{id: "s1", root: n.folder + "/k8s.io"}.state()
	if status != "running" || pid != sentry.Process.Pid || string(fields["goferPid"]) != "12345678901234567" || err != nil {
		t.Errorf("the state is %s, %v", fields, err)
	}
}

func TestKillLeavesAPausedPodWhoseMemoryIsBeingWritten(t *testing.T) {
	n := newNode(t)
	sentry := n.startSentry("s1", "paused")
	service, _ := n.open(&gvisor{}, n.request("s1", "app", ""))
	n.write("tombstones/uid-s1.json", `{"namespace":"shop","pod":"web","image":"g2","podUID":"uid-s1","isFinal":false}`, 0o600)
	request := &task.KillRequest{ID: "s1-app", Signal: 9}
	if _, err := service.Kill(inKubernetes, request); err == nil || syscall.Kill(sentry.Process.Pid, 0) != nil || isEnding(sentry.Process.Pid) {
		t.Errorf("during the write: got %v", err)
	}
	n.write("images/shop/web/g2/image.json", "{}", 0o600)
	if _, err := service.Kill(inKubernetes, request); err != nil {
		t.Errorf("with the whole image: got %v", err)
	}
	n.wantsKilled(sentry)
}

func TestKillEndsAPausedPodWhoseAgentHasEndedInTheCapture(t *testing.T) {
	n := newNode(t)
	sentry := n.startSentry("s1", "paused")
	service, _ := n.open(&gvisor{}, n.request("s1", "app", ""))
	n.write("tombstones/uid-s1.json", `{"namespace":"shop","pod":"web","image":"g2"}`, 0o600)
	old := time.Now().Add(-longestCapture - time.Second)
	os.Chtimes(filepath.Join(tombstones, "uid-s1.json"), old, old)
	if _, err := service.Kill(inKubernetes, &task.KillRequest{ID: "s1-app", Signal: 9}); err != nil {
		t.Errorf("got %v", err)
	}
	n.wantsKilled(sentry)
}

func TestKillOfARunningPodOrOfAnAddedProcessIsGvisors(t *testing.T) {
	n := newNode(t)
	for _, status := range []string{"running", "paused"} {
		sentry, next := n.startSentry("s1", status), &gvisor{}
		service, _ := n.open(next, n.request("s1", "app", ""))
		request := &task.KillRequest{ID: "s1-app"}
		if status == "paused" {
			request.ExecID = "shell"
		}
		service.Kill(inKubernetes, request)
		if !slices.Equal(next.calls, []string{"kill"}) || syscall.Kill(sentry.Process.Pid, 0) != nil {
			t.Errorf("%s: gVisor got %q", status, next.calls)
		}
	}
}

func TestAKillIsNotedBeforeItsSignalUntilTheContainerIsDeleted(t *testing.T) {
	n, next := newNode(t), &gvisor{}
	for _, name := range []string{"", "app", "side"} {
		request := n.request("s1", name, "")
		service, _ := n.open(next, request)
		isNoted := func() bool { _, err := os.Stat(killedFile("uid-s1", request.ID)); return err == nil }
		service.Kill(inKubernetes, &task.KillRequest{ID: request.ID, ExecID: "shell"})
		if isNoted() {
			t.Errorf("container %q: the end of an added process counts", name)
		}
		service.Kill(inKubernetes, &task.KillRequest{ID: request.ID, Signal: 15})
		if isNoted() != (name != "") {
			t.Errorf("container %q: noted: %v", name, isNoted())
		}
		service.Delete(inKubernetes, &task.DeleteRequest{ID: request.ID})
		if isNoted() {
			t.Errorf("container %q: noted after its deletion", name)
		}
	}
	if left, _ := os.ReadDir(killedFolder); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

func TestAProcessWithTheNumberOfASentryThatEndedIsSpared(t *testing.T) {
	n := newNode(t)
	other := n.startSentry("s2", "running")
	if err := (sandbox{id: "s1"}).end(other.Process.Pid); err != nil || syscall.Kill(other.Process.Pid, 0) != nil || isEnding(other.Process.Pid) {
		t.Errorf("got %v", err)
	}
}

func TestDeleteWaitsForASentryThatEndsAndForNoOther(t *testing.T) {
	n := newNode(t)
	sentry := n.startSentry("s1", "running")
	request, next := n.request("s1", "", ""), &gvisor{sentry: sentry.Process.Pid}
	service, _ := n.open(next, request)
	service.Create(inKubernetes, request)
	began := time.Now()
	service.Delete(inKubernetes, &task.DeleteRequest{ID: "s1"})
	if took := time.Since(began); took >= longestEnd {
		t.Errorf("it waited %s for a sentry that goes on", took)
	}
	sentry.Process.Kill() // until the test waits for it, it is a zombie, as in a shim that has not noticed its end
	if !next.sawSentry || !isEnding(sentry.Process.Pid) {
		t.Error("a killed sentry does not count as ending")
	}
	time.AfterFunc(20*time.Millisecond, func() { sentry.Wait() })
	service.Delete(inKubernetes, &task.DeleteRequest{ID: "s1"})
	if next.sawSentry {
		t.Error("gVisor deleted while the sentry was there")
	}
	if got := strings.Join(next.calls, " "); got != "create delete delete" {
		t.Errorf("gVisor got %q", got)
	}
}

func TestSeveralShimsCorrectTheSameFileAndItStaysWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.state")
	texts := []string{strings.Repeat("a", 4000), strings.Repeat("b", 5000)}
	done := make(chan error)
	for _, text := range texts {
		go func() {
			var err error
			for i := 0; i < 200 && err == nil; i++ {
				err = replaceFile(path, []byte(text))
			}
			done <- err
		}()
	}
	for left := len(texts); left > 0; {
		select {
		case err := <-done:
			if left--; err != nil {
				t.Errorf("a write failed: %v", err)
			}
		default:
			if found, err := os.ReadFile(path); err == nil && !slices.Contains(texts, string(found)) {
				t.Fatalf("a reader saw %d bytes", len(found))
			}
		}
	}
}

func TestAPodWithATornStateFileCanBeKilledAndDeleted(t *testing.T) {
	for _, torn := range []string{"s1", "s1-app"} {
		n, next := newNode(t), &gvisor{}
		sentry := n.startSentry("s1", "paused")
		service, _ := n.open(next, n.request("s1", "app", ""))
		n.bury("s1") // it is captured
		path := service.sandbox.fileOf(torn)
		n.write("k8s.io/"+filepath.Base(path), `{"id":`, 0o600)
		if _, err := service.Kill(inKubernetes, &task.KillRequest{ID: "s1-app", Signal: 15}); err != nil || len(next.calls) != 0 {
			t.Errorf("%s: got %v, and gVisor %q", torn, err, next.calls)
		}
		n.wantsKilled(sentry)
		service.id = torn // the shim of that container
		service.Delete(inKubernetes, &task.DeleteRequest{ID: torn})
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: runsc finds the torn file: %v", torn, err)
		}
	}
}

func TestATornStateFileStaysWhileItsSentryLives(t *testing.T) {
	n := newNode(t)
	n.startSentry("s1", "running")
	service, _ := n.open(&gvisor{}, n.request("s1", "app", ""))
	n.write("k8s.io/s1-app_sandbox:s1.state", "", 0o600)
	service.Delete(inKubernetes, &task.DeleteRequest{ID: "s1-app"})
	if !service.sandbox.isTorn("s1-app") {
		t.Error("the file is gone")
	}
}
