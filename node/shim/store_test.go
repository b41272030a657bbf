package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	canHibernate := func() *task.CreateTaskRequest {
		request := n.request("s1", "", "")
		n.edit(request, `"annotations":{`, `"annotations":{"`+runHashAnnotation+`":"h",`)
		return request
	}
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
	n.wants("a Pod that does not hibernate", n.request("s1", "", ""), "create", "start")
	n.write("store.json", `{"id":"store-2","replaces":["store-1"]}`, 0o600)
	n.wants("with a store that stands for it", canHibernate(), "create", "start")
	os.Remove(storeFile)
	n.refuses("without any store", canHibernate())
	n.write("uptime", "600.0 12.0\n", 0o600)
	n.wants("a node that has run for long enough", canHibernate(), "create", "start")
}
