package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/containerd/api/runtime/task/v2"
)

func TestEveryCallOfAContainerThatAsksForNoMemoryReachesGvisorOnce(t *testing.T) {
	n, next := newNode(t), &gvisor{err: errOfGvisor}
	request := n.request("s1", "app", "")
	service, _ := n.open(next, request)
	_, create := service.Create(inKubernetes, request)
	_, start := service.Start(inKubernetes, &task.StartRequest{ID: request.ID})
	_, run := service.Start(inKubernetes, &task.StartRequest{ID: request.ID, ExecID: "shell"})
	_, kill := service.Kill(inKubernetes, &task.KillRequest{ID: request.ID})
	_, remove := service.Delete(inKubernetes, &task.DeleteRequest{ID: request.ID})
	if want := []string{"create", "start", "start shell", "kill", "delete"}; !slices.Equal(next.calls, want) {
		t.Errorf("gVisor got %q, not %q", next.calls, want)
	}
	for _, err := range []error{create, start, run, kill, remove} {
		if !errors.Is(err, errOfGvisor) {
			t.Errorf("containerd gets %v", err)
		}
	}
}

func TestAPodThatAsksForItsMemoryIsRestoredWithAllItsContainers(t *testing.T) {
	n := newNode(t)
	for _, name := range []string{"", "app", "side"} {
		calls, err := n.run(&gvisor{}, n.request("s1", name, "g1"))
		if want := []string{"create", "restore g1"}; !slices.Equal(calls, want) || err != nil {
			t.Errorf("container %q: gVisor got %q, not %q; %v", name, calls, want, err)
		}
		if got, _ := n.outcome(name); got != "restored" {
			t.Errorf("the mark of container %q says %q", name, got)
		}
	}
}

func TestAContainerThatCrashedAfterItsRestoreStartsAnew(t *testing.T) {
	n := newNode(t)
	for _, name := range []string{"", "app", "side"} {
		n.run(&gvisor{}, n.request("s1", name, "g1"))
	}
	calls, err := n.run(&gvisor{}, n.request("s1", "app", "g1"))
	if want := []string{"create", "start"}; !slices.Equal(calls, want) || err != nil {
		t.Errorf("gVisor got %q, not %q; %v", calls, want, err)
	}
}

func TestTheNextSandboxOfARestoredPodStartsAnewWithAllItsContainers(t *testing.T) {
	n := newNode(t)
	n.run(&gvisor{}, n.request("s1", "", "g1"))
	for _, name := range []string{"", "app", "side"} {
		calls, err := n.run(&gvisor{}, n.request("s2", name, "g1"))
		if want := []string{"create", "start"}; !slices.Equal(calls, want) || err != nil {
			t.Errorf("container %q: gVisor got %q, not %q; %v", name, calls, want, err)
		}
	}
}

func TestAContainerIsNotCreatedUntilItIsKnownWhetherItsPodWasRestored(t *testing.T) {
	n := newNode(t)
	if _, err := newExtension(inKubernetes, &gvisor{}, n.request("s1", "", "g1")); err != nil {
		t.Fatal(err)
	}
	if got, _ := n.outcome(""); got != "restoring" {
		t.Errorf("the mark of the Pod says %q", got)
	}
	n.refuses("the container", n.request("s1", "app", "g1"))
	n.wants("in another sandbox", n.request("s2", "app", "g1"), "create", "start")
}

func TestAnImageThatIsNotWhatWasCapturedIsRefusedAndThePodStartsAnew(t *testing.T) {
	spoiled := map[string]func(n node){
		"image.json does not name checkpoint.img": func(n node) { n.write("images/shop/web/g1/image.json", "{}", 0o600) },
		"pages.img has 3 bytes, and not 6":        func(n node) { n.write("images/shop/web/g1/pages.img", "mem", 0o600) },
		"checkpoint.img: no such file":            func(n node) { os.Remove(filepath.Join(n.image, "checkpoint.img")) },
		"the bytes of pages.img are not":          func(n node) { n.write("images/shop/web/g1/pages.img", "memorz", 0o600) },
		"the bytes of checkpoint.img are not":     func(n node) { n.write("images/shop/web/g1/checkpoint.img", "Kernel", 0o600) },
		`does not name the file "pages_meta.img"`: func(n node) { n.write("images/shop/web/g1/pages_meta.img", "", 0o600) },
		"pages.img is not a regular file": func(n node) {
			n.write("elsewhere", "memory", 0o600)
			os.Remove(filepath.Join(n.image, "pages.img"))
			os.Symlink(filepath.Join(n.folder, "elsewhere"), filepath.Join(n.image, "pages.img"))
		},
		`made by runsc "2026.1+abc"; this node has "2026.2"`: func(n node) {
			n.write("runsc", "#!/bin/sh\necho runsc version 2026.2\n", 0o700)
		},
	}
	for want, spoil := range spoiled {
		n := newNode(t)
		spoil(n)
		calls, err := n.run(&gvisor{}, n.request("s1", "", "g1"))
		if want := []string{"create", "start"}; err != nil || !slices.Equal(calls, want) {
			t.Errorf("%s: gVisor got %q, %v", want, calls, err)
		}
		if got, reason := n.outcome(""); got != "refused" || !strings.Contains(reason, want) {
			t.Errorf("%s: the mark says %q, %q", want, got, reason)
		}
		for _, sandbox := range []string{"s1", "s2"} {
			n.wants(want+": the next container", n.request(sandbox, "app", "g1"), "create", "start")
		}
	}
}

func TestAPodThatWouldRunSomethingElseThanTheCapturedOneStartsAnew(t *testing.T) {
	n := newNode(t)
	request := n.request("s1", "", "g1")
	n.edit(request, "run", "walk")
	n.wants("the container", request, "create", "start")
	if got, reason := n.outcome(""); got != "refused" || !strings.Contains(reason, "would run something else") {
		t.Errorf("the mark says %q, %q", got, reason)
	}
}

func TestAnImageCannotBeNamedOutsideOfItsPod(t *testing.T) {
	n := newNode(t)
	for _, name := range []string{"../web/g1", "/g1", "g1/", "g1.json", "G1", ".", strings.Repeat("g", 64)} {
		calls, err := n.run(&gvisor{}, n.request("s1", "", name))
		if want := []string{"create", "start"}; err != nil || !slices.Equal(calls, want) {
			t.Errorf("%q: gVisor got %q, %v", name, calls, err)
		}
	}
}

func TestAFailedRestoreEndsTheSentryAndTheShimAndSaysWhy(t *testing.T) {
	n := newNode(t)
	sentry := n.startSentry("s1", "running")
	request, next := n.request("s1", "", "g1"), &gvisor{sentry: sentry.Process.Pid}
	service, exits := n.open(next, request)
	service.Create(inKubernetes, request)
	next.err = errOfGvisor
	if _, err := service.Start(inKubernetes, &task.StartRequest{ID: "s1"}); !errors.Is(err, errOfGvisor) {
		t.Errorf("containerd gets %v", err)
	}
	n.wantsKilled(sentry)
	if code := <-exits; code == 0 {
		t.Error("the shim ended as if all were well")
	}
	if got, reason := n.outcome(""); got != "failed" || reason != errOfGvisor.Error() {
		t.Errorf("the mark says %q, %q", got, reason)
	}
}

func TestACreateThatFailsAfterItsClaimEndsTheSentryAndTheShimAndSaysWhy(t *testing.T) {
	n := newNode(t)
	n.run(&gvisor{}, n.request("s1", "", "g1"))
	sentry := n.startSentry("s1", "running")
	request := n.request("s1", "app", "g1")
	service, exits := n.open(&gvisor{err: errOfGvisor}, request)
	if _, err := service.Create(inKubernetes, request); !errors.Is(err, errOfGvisor) {
		t.Errorf("containerd gets %v", err)
	}
	n.wantsKilled(sentry)
	if code := <-exits; code == 0 {
		t.Error("the shim ended as if all were well")
	}
	if got, reason := n.outcome("app"); got != "failed" || reason != errOfGvisor.Error() {
		t.Errorf("the mark says %q, %q", got, reason)
	}
}

func TestAContainerIsNotCreatedIfItsAnnotationsCannotBeRead(t *testing.T) {
	n := newNode(t)
	n.write("broken/config.json", "{", 0o600)
	for _, bundle := range []string{t.TempDir(), filepath.Join(n.folder, "broken")} {
		if _, err := newExtension(inKubernetes, &gvisor{}, &task.CreateTaskRequest{ID: "c1", Bundle: bundle}); err == nil {
			t.Errorf("no error for the bundle %s", bundle)
		}
	}
}

func TestAShimOfAWholePodCreatesOnlyContainersThatAskForNoMemory(t *testing.T) {
	n := newNode(t)
	if got, err := newPodExtension(inKubernetes, &gvisor{}, n.request("s1", "", "")); got == nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := newPodExtension(inKubernetes, &gvisor{}, n.request("s1", "", "g1")); err == nil {
		t.Error("no error for a container that asks for its memory")
	}
}
