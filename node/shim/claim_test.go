package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/api/runtime/task/v2"
)

// lives tells whether a sentry has not been ended.
func (n node) lives(sentry *exec.Cmd) bool {
	return syscall.Kill(sentry.Process.Pid, 0) == nil && !isEnding(sentry.Process.Pid)
}

func TestACapturedContainerThatWouldRunSomethingElseEndsAPodThatIsHalfRestored(t *testing.T) {
	n := newNode(t)
	n.run(&gvisor{}, n.request("s1", "", "g1"))
	sentry := n.startSentry("s1", "running")
	request := n.request("s1", "app", "g1")
	n.edit(request, "run", "walk")
	if _, err := n.run(&gvisor{}, request); err == nil || !strings.Contains(err.Error(), "would run something else") {
		t.Errorf("got %v", err)
	}
	n.wantsKilled(sentry)
}

func TestAContainerThatWasNotCapturedWaitsForTheRestOfThePodAndStartsAnew(t *testing.T) {
	n := newNode(t)
	sentry := n.startSentry("s1", "running")
	for _, name := range []string{"", "app", "side"} {
		n.wants("what was captured", n.request("s1", name, "g1"), "create", "restore g1")
		if name != "side" {
			n.refuses("before all that was captured is restored", n.request("s1", "debugger-x7", "g1"))
		}
	}
	os.RemoveAll(n.image) // as the agent does when the Pod is restored
	n.wants("then", n.request("s1", "debugger-x7", "g1"), "create", "start")
	if !n.lives(sentry) {
		t.Error("the sentry of the Pod has ended")
	}
	if n.isMarked("debugger-x7") {
		t.Error("the container has a mark")
	}
}

func TestARestoredContainerThatCrashesAfterTheImageIsGoneStartsAnew(t *testing.T) {
	n := newNode(t)
	for _, name := range []string{"", "app", "side"} {
		n.run(&gvisor{}, n.request("s1", name, "g1"))
	}
	sentry, request := n.startSentry("s1", "running"), n.request("s1", "app", "g1")
	os.RemoveAll(n.image)
	if calls, err := n.run(&gvisor{}, request); !slices.Equal(calls, []string{"create", "start"}) || err != nil || !n.lives(sentry) {
		t.Errorf("gVisor got %q, %v", calls, err)
	}
}

// smallDisk moves the store to a disk of 64 KiB, and returns how to fill it, and how to free it.
func (n node) smallDisk() (fill, free func()) {
	n.Helper()
	aside := n.TempDir()
	if output, err := exec.Command("cp", "-a", imageStore+"/.", aside).CombinedOutput(); err != nil {
		n.Fatal(string(output))
	}
	if err := syscall.Mount("none", imageStore, "tmpfs", 0, "size=64k"); err != nil {
		n.Skipf("a disk needs root: %v", err)
	}
	n.Cleanup(func() { syscall.Unmount(imageStore, 0) })
	if output, err := exec.Command("cp", "-a", aside+"/.", imageStore).CombinedOutput(); err != nil {
		n.Fatal(string(output))
	}
	filler := filepath.Join(imageStore, "filler")
	return func() {
		file, err := os.Create(filler)
		for err == nil {
			_, err = file.Write(make([]byte, 4096))
		}
		file.Close()
	}, func() { os.Remove(filler) }
}

func TestAFullDiskIsNoUseOfTheImage(t *testing.T) {
	n := newNode(t)
	fill, free := n.smallDisk()
	fill()
	n.refuses("on the full disk", n.request("s1", "", "g1"))
	if n.isMarked("") {
		t.Error("the image counts as used")
	}
	free()
	n.wants("with room", n.request("s1", "", "g1"), "create", "restore g1")
	if left, _ := filepath.Glob(n.image + "*.new"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

func TestARestoreThatCannotBeWrittenDownIsNotEndedAndIsWrittenDownLater(t *testing.T) {
	before := noteAgainAfter
	noteAgainAfter = time.Millisecond
	defer func() { noteAgainAfter = before }()
	n := newNode(t)
	fill, free := n.smallDisk()
	sentry := n.startSentry("s1", "running")
	request, next := n.request("s1", "", "g1"), &gvisor{sentry: sentry.Process.Pid}
	service, _ := n.open(next, request)
	service.Create(inKubernetes, request)
	fill()
	if _, err := service.Start(inKubernetes, &task.StartRequest{ID: "s1"}); err != nil || !n.lives(sentry) {
		t.Errorf("the restored Pod: %v", err)
	}
	n.refuses("before it is written down", n.request("s1", "app", "g1"))
	free()
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(time.Millisecond) {
		if got, _ := n.outcome(""); got == "restored" {
			break
		}
	}
	n.wants("then", n.request("s1", "app", "g1"), "create", "restore g1")
}

func TestATroubleOfTheNodeThatPassesIsNoUseOfTheImage(t *testing.T) {
	troubles := map[string]func(n node){
		"runsc fails":            func(n node) { n.write("runsc", "#!/bin/sh\nexit 3\n", 0o700) },
		"runsc is being changed": func(n node) { os.Remove(filepath.Join(n.folder, "runsc")) },
		"the keys are no file":   func(n node) { os.Remove(publicKeysFile); os.Mkdir(publicKeysFile, 0o700) },
	}
	for what, cause := range troubles {
		n := newNode(t)
		request := n.request("s1", "", "g1")
		cause(n)
		calls, err := n.run(&gvisor{}, request)
		if err == nil || len(calls) != 0 {
			t.Errorf("%s: gVisor got %q, %v", what, calls, err)
		}
		if n.isMarked("") || n.refused().Reason != "" {
			t.Errorf("%s: the image counts as used, or the Pod as refused", what)
		}
	}
}

func TestATroubleThatDoesNotPassIsARefusal(t *testing.T) {
	n := newNode(t)
	n.write("runsc", "#!/bin/sh\nexit 3\n", 0o700)
	n.refuses("at first", n.request("s1", "", "g1"))
	n.runs(100_000*time.Second + longestTrouble)
	n.wants("after a long time", n.request("s1", "", "g1"), "create", "start")
	if got, reason := n.outcome(""); got != "refused" || !strings.Contains(reason, "--version: exit status 3") {
		t.Errorf("the mark says %q, %q", got, reason)
	}
}

// readOnlyDisk has the store take no write, as after an error of its disk. It returns how to end that.
func (n node) readOnlyDisk() (end func()) {
	n.Helper()
	n.smallDisk()
	if err := syscall.Mount("none", imageStore, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		n.Fatal(err)
	}
	return func() {
		if err := syscall.Mount("none", imageStore, "", syscall.MS_REMOUNT, ""); err != nil {
			n.Fatal(err)
		}
	}
}

func TestATroubleThatAReadOnlyStoreCannotNoteIsNotedElsewhereAndHasAnEnd(t *testing.T) {
	n := newNode(t)
	end := n.readOnlyDisk()
	for range 2 {
		if !isWorthAnotherTry(n.image) {
			t.Error("the first tries were the last")
		}
	}
	n.runs(100_000*time.Second + longestTrouble)
	if isWorthAnotherTry(n.image) {
		t.Error("the trouble has no end")
	}
	end()
	n.wants("with a good image and a store that takes writes", n.request("s1", "", "g1"), "create", "restore g1")
	if left, _ := os.ReadDir(troubleFolder); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestATroubleThatCanBeNotedNowhereIsNotWaitedFor(t *testing.T) {
	n := newNode(t)
	n.readOnlyDisk()
	n.write("file", "", 0o600)
	troubleFolder = filepath.Join(n.folder, "file", "run")
	if isWorthAnotherTry(n.image) {
		t.Error("nobody would know when it began")
	}
}

func TestAStoreThatTakesNoMarkEndsAPodThatIsHalfRestoredAfterALongTime(t *testing.T) {
	n := newNode(t)
	fill, free := n.smallDisk()
	n.run(&gvisor{}, n.request("s1", "", "g1"))
	sentry := n.startSentry("s1", "running")
	fill()
	n.refuses("at first", n.request("s1", "app", "g1"))
	if !n.lives(sentry) {
		t.Error("the sentry has ended at once")
	}
	n.runs(100_000*time.Second + longestTrouble)
	n.refuses("after a long time", n.request("s1", "app", "g1"))
	n.wantsKilled(sentry)
	for range 2 {
		for _, name := range []string{"", "app", "side"} {
			request := n.request("s2", name, "g1")
			n.edit(request, "uid-s2", "uid-s1")
			n.wants("the next sandbox of the Pod", request, "create", "start")
		}
		free()
	}
}

func TestBytesThatCannotBeReadNowAreNoUseOfTheImage(t *testing.T) {
	n := newNode(t)
	sentry := n.startSentry("s1", "running")
	request, next := n.request("s1", "", "g1"), &gvisor{sentry: sentry.Process.Pid}
	service, exits := n.open(next, request)
	service.Create(inKubernetes, request)
	failed := make(chan error, 1)
	failed <- &os.PathError{Op: "read", Path: "pages.img", Err: syscall.EIO}
	service.bytes = failed
	if _, err := service.Start(inKubernetes, &task.StartRequest{ID: "s1"}); err == nil {
		t.Error("containerd gets no error")
	}
	n.wantsKilled(sentry)
	<-exits
	n.wants("the next sandbox", n.request("s1", "", "g1"), "create", "restore g1")
}

func TestACreateThatFailsBeforeAnythingIsRestoredIsNoUseOfTheImage(t *testing.T) {
	n := newNode(t)
	request := n.request("s1", "", "g1")
	service, exits := n.open(&gvisor{err: errOfGvisor}, request)
	if _, err := service.Create(inKubernetes, request); err == nil {
		t.Error("containerd gets no error")
	}
	<-exits
	n.wants("the next sandbox", n.request("s1", "", "g1"), "create", "restore g1")
}
