package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/api/runtime/task/v2"
)

// in has a container ask for memory of this store.
func (n node) in(store string, request *task.CreateTaskRequest) *task.CreateTaskRequest {
	n.Helper()
	n.edit(request, `"annotations":{`, `"annotations":{"`+storeAnnotation+`":"`+store+`",`)
	return request
}

func TestAPodWaitsForTheStoreThatHasItsMemory(t *testing.T) {
	n := newNode(t)
	request := n.in("store-1", n.request("s1", "", "g1"))
	aside := filepath.Join(n.folder, "aside")
	os.Rename(imageStore, aside)
	for _, text := range []string{"", "{", `{"id":"store-2","replaces":["store-0"]}`} {
		if text != "" {
			n.write("store.json", text, 0o600)
		}
		if calls, err := n.run(&gvisor{}, request); err == nil || len(calls) != 0 || !strings.Contains(err.Error(), "store") {
			t.Errorf("with the store %q gVisor got %q, %v", text, calls, err)
		}
		if _, err := os.Stat(imageStore); err == nil {
			t.Errorf("something was written into the store %q", text)
		}
	}
	os.Rename(aside, imageStore)
	n.write("store.json", `{"id":"store-1","replaces":[]}`, 0o600)
	request = n.in("store-1", n.request("s1", "", "g1"))
	n.wants("with its own store", request, "create", "restore g1")
}

func TestAPodWhoseStoreDoesNotComeBackStartsAnew(t *testing.T) {
	n := newNode(t)
	request := n.in("store-1", n.request("s1", "", "g1"))
	os.RemoveAll(imageStore)
	n.write("store.json", `{"id":"store-2","replaces":["store-1"]}`, 0o600)
	n.wants("the container", request, "create", "start")
	if got := n.refused(); got.Reason != "ImageMissing" {
		t.Errorf("the refusal says %v", got)
	}
}

func TestAPodThatMayBeCapturedWaitsForTheDiskWithTheTombstonesAfterTheStartOfTheNode(t *testing.T) {
	n := newNode(t)
	canHibernate := func() *task.CreateTaskRequest { return n.request("s1", "", "") }
	n.write("uptime", "30.5 12.0\n", 0o600)
	n.wants("a node that has had no store", canHibernate(), "create", "start")
	n.write("store.json", `{"id":"store-1","replaces":[]}`, 0o600)
	n.wants("with the store", canHibernate(), "create", "start")
	n.bury("s1")
	n.refuses("a captured Pod", canHibernate())
	os.Rename(storeFile, storeFile+".aside")
	os.Rename(tombstones, tombstones+".aside")
	n.refuses("a captured Pod while the disk is not mounted", canHibernate())
	n.write("store.json", `{"id":"store-2","replaces":[]}`, 0o600)
	n.refuses("the same with another store", canHibernate())
	n.wants("a Pod that does not hibernate", n.withoutHibernation(n.request("s1", "", "")), "create", "start")
	n.write("store.json", `{"id":"store-2","replaces":["store-1"]}`, 0o600)
	n.wants("with a store that stands for it", canHibernate(), "create", "start")
	os.Remove(storeFile)
	n.refuses("without any store", canHibernate())
	n.write("uptime", "600.0 12.0\n", 0o600)
	n.wants("a node that has run for long enough", canHibernate(), "create", "start")
}

// withoutHibernation is for a Pod that is never captured.
func (n node) withoutHibernation(request *task.CreateTaskRequest) *task.CreateTaskRequest {
	n.Helper()
	n.edit(request, `"`+runHashAnnotation+`"`, `"other"`)
	return request
}

// makePipe makes a file whose readers wait for ever, as on a disk that hangs, until the end of the test.
func (n node) makePipe(path string) {
	n.Helper()
	os.Remove(path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), syscall.Mkfifo(path, 0o600)); err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() {
		if pipe, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			pipe.Close()
		}
	})
}

func (n node) shortenLooks() {
	before := longestLook
	longestLook = 20 * time.Millisecond
	n.Cleanup(func() { longestLook = before })
}

func TestAPodThatMayBeCapturedWaitsNoLongerThanItsLimitForADiskThatHangs(t *testing.T) {
	n := newNode(t)
	n.shortenLooks()
	n.makePipe(storeFile)
	if _, err := n.run(&gvisor{}, n.request("s1", "", "")); !errors.Is(err, errSilent) {
		t.Errorf("got %v", err)
	}
}

func TestADiskThatHangsKeepsNoPodFromItsEnd(t *testing.T) {
	n, next := newNode(t), &gvisor{}
	service, _ := n.open(next, n.request("s1", "app", ""))
	n.shortenLooks()
	n.write("killed", "a file in the place of the folder", 0o600)
	n.makePipe(filepath.Join(tombstones, "uid-s1.json"))
	request := &task.KillRequest{ID: "s1-app", Signal: 15}
	if _, err := service.Kill(inKubernetes, request); err != nil || len(next.calls) != 1 {
		t.Errorf("gVisor got %q, %v", next.calls, err)
	}
}

func TestManyLooksAtADiskThatHangsDoNotKeepMoreAndMoreThreads(t *testing.T) {
	n := newNode(t)
	n.shortenLooks()
	held := make(chan struct{})
	t.Cleanup(func() { close(held) })
	begun := make(chan struct{}, 100)
	for range 3 * mostLooksAtOnce {
		err := inTime(func() error { begun <- struct{}{}; <-held; return nil })
		if !errors.Is(err, errSilent) {
			t.Errorf("got %v", err)
		}
	}
	if len(begun) != mostLooksAtOnce {
		t.Errorf("%d looks have begun", len(begun))
	}
}

func TestAPodThatIsNeverCapturedDoesNotNeedTheStore(t *testing.T) {
	n, next := newNode(t), &gvisor{}
	os.Symlink("loop", filepath.Join(n.folder, "loop"))
	tombstones, killedFolder = filepath.Join(n.folder, "loop"), filepath.Join(n.folder, "loop")
	n.refuses("a Pod that may be captured", n.request("s1", "", ""))
	n.wants("the container", n.withoutHibernation(n.request("s1", "", "")), "create", "start")
	service, _ := n.open(next, n.withoutHibernation(n.request("s1", "app", "")))
	request := &task.KillRequest{ID: "s1-app", Signal: 15}
	if _, err := service.Kill(inKubernetes, request); err != nil || len(next.calls) != 1 || isNoted("s1-app") {
		t.Errorf("gVisor got %q, %v", next.calls, err)
	}
}
