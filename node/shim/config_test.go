package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/api/runtime/task/v2"
	"golang.org/x/sys/unix"
)

// config of a container as containerd 1.6 writes it, with the names that each Pod has for itself.
const usualConfig = `{
  "ociVersion": "1.0.2",
  "process": {
    "args": ["python3", "server.py"], "cwd": "/app", "user": {"uid": 1000, "gid": 1000}, "noNewPrivileges": true,
    "env": ["PATH=/bin", "HOSTNAME=web", "POD_IP=10.0.0.1", "SHOP_SERVICE_HOST=10.1.0.1", "SHOP_PORT_80_TCP_ADDR=10.1.0.1"],
    "capabilities": {"bounding": ["CAP_CHOWN", "CAP_KILL"]}, "oomScoreAdj": 1000
  },
  "root": {"path": "rootfs", "readonly": true},
  "hostname": "web",
  "mounts": [
    {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid"]},
    {"destination": "/data", "type": "bind", "source": "/var/lib/kubelet/pods/UID-1/volumes/kubernetes.io~csi/pvc-1/mount"},
    {"destination": "/dev/termination-log", "type": "bind", "source": "/var/lib/kubelet/pods/UID-1/containers/app/1a2b3c4d"},
    {"destination": "/var/run/secrets/kubernetes.io/serviceaccount", "type": "bind", "source": "/var/lib/kubelet/pods/UID-1/volumes/kubernetes.io~projected/kube-api-access-x1y2z"},
    {"destination": "/etc/resolv.conf", "type": "bind", "source": "/var/lib/containerd/sandboxes/SANDBOX-1/resolv.conf"}
  ],
  "annotations": {"io.kubernetes.cri.sandbox-uid": "UID-1", "io.kubernetes.cri.sandbox-id": "SANDBOX-1"},
  "linux": {
    "resources": {"memory": {"limit": 9007199254740993}, "cpu": {"shares": 102, "cpus": "2-3", "mems": "0"}}, "cgroupsPath": "/kubepods/UID-1",
    "namespaces": [{"type": "pid"}, {"type": "network", "path": "/var/run/netns/cni-1"}]
  },
  "other": 18446744073709551615
}`

func hashOfConfig(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, hash, err := noteConfig(folder, "CONTAINER-1", "")
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func TestTwoPodsOfOneSpecHaveTheSameConfigHash(t *testing.T) {
	next := strings.NewReplacer("UID-1", "UID-2", "SANDBOX-1", "SANDBOX-2", "1a2b3c4d", "5e6f7a8b", "x1y2z", "q9r8s",
		"POD_IP=10.0.0.1", "POD_IP=10.0.0.2", "SHOP_SERVICE_HOST", "DESK_SERVICE_HOST", `"hostname": "web"`, `"hostname": "web-2"`, "cni-1", "cni-2",
		`"cpus": "2-3", "mems": "0"`, `"cpus": "4-5", "mems": "1"`)
	if got, want := hashOfConfig(t, next.Replace(usualConfig)), hashOfConfig(t, usualConfig); got != want {
		t.Errorf("%s, and not %s", got, want)
	}
}

func TestWhateverSaysWhatRunsChangesTheConfigHash(t *testing.T) {
	changes := [][2]string{{"server.py", "other.py"}, {"/app", "/tmp"}, {"1000, ", "0, "}, {"CAP_KILL", "CAP_SYS_ADMIN"},
		{`"noNewPrivileges": true`, `"noNewPrivileges": false`}, {`"readonly": true`, `"readonly": false`}, {"9007199254740993", "9007199254740992"}, {`"shares": 102`, `"shares": 204`},
		{"POD_IP=", "LD_PRELOAD="}, {"pvc-1", "pvc-2"}, {"/data", "/etc"}, {"nosuid", "suid"}, {`{"type": "pid"}, `, ""},
		{"pods/UID-1/volumes/kubernetes.io~csi", "pods/UID-9/volumes/kubernetes.io~csi"}}
	for _, change := range changes {
		if hashOfConfig(t, strings.Replace(usualConfig, change[0], change[1], 1)) == hashOfConfig(t, usualConfig) {
			t.Errorf("the change to %q is not noticed", change[1])
		}
	}
}

func TestTheConfigHashIsWrittenIntoTheBundleAndAllElseStays(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "config.json")
	text := strings.Replace(usualConfig, `"annotations": {`, `"annotations": {"`+configAnnotation+`": "forged", "`+memoryMountAnnotation+`": "forged", "`+runscAnnotation+`": "forged", `, 1)
	os.WriteFile(path, []byte(text), 0o600)
	annotations, hash, err := noteConfig(folder, "CONTAINER-1", "")
	if err != nil || annotations[configAnnotation]+annotations[memoryMountAnnotation]+annotations[runscAnnotation] != "" || hash != hashOfConfig(t, usualConfig) {
		t.Fatalf("got %v, %q, %v", annotations, hash, err)
	}
	after, _ := os.ReadFile(path)
	var config struct {
		Annotations map[string]string
		Other       json.Number
	}
	if err := json.Unmarshal(after, &config); err != nil || config.Annotations[configAnnotation] != hash {
		t.Errorf("config.json says %v, %v", config.Annotations, err)
	}
	if mount, err := memoryMount(); err != nil || config.Annotations[memoryMountAnnotation] != mount {
		t.Errorf("config.json says that memory is on the mount %q, and not %q, %v", config.Annotations[memoryMountAnnotation], mount, err)
	}
	if config.Other != "18446744073709551615" || config.Annotations["io.kubernetes.cri.sandbox-uid"] != "UID-1" {
		t.Errorf("config.json is now %s", after)
	}
	if _, again, _ := noteConfig(folder, "CONTAINER-1", ""); again != hash {
		t.Error("the hash depends on itself")
	}
}

// buildIn creates a container, and reads the build of its sentry in the bundle.
func (n node) buildIn(request *task.CreateTaskRequest) string {
	n.Helper()
	n.wants("the container", request, "create", "start")
	text, _ := os.ReadFile(filepath.Join(request.Bundle, "config.json"))
	var config struct{ Annotations map[string]string }
	json.Unmarshal(text, &config)
	return config.Annotations[runscAnnotation]
}

func TestTheBuildOfTheSentryOfAPodThatMayBeCapturedIsWrittenIntoTheBundle(t *testing.T) {
	n := newNode(t)
	if got := n.buildIn(n.request("s1", "", "")); got != "2026.1+abc" {
		t.Errorf("config.json says %q", got)
	}
	n.write("runsc", "#!/bin/sh\necho runsc version 2026.2+longer\n", 0o700)
	if got := n.buildIn(n.request("s2", "", "")); got != "2026.2+longer" {
		t.Errorf("after an upgrade, config.json says %q", got)
	}
	if got := n.buildIn(n.withoutHibernation(n.request("s3", "", ""))); got != "" {
		t.Errorf("for a Pod that is never captured, config.json says %q", got)
	}
}

func TestTheBuildThatRunscHasToldIsKnownWhateverBecomesOfItsProcess(t *testing.T) {
	n := newNode(t)
	n.write("runsc", "#!/bin/sh\necho runsc version 2026.3; exit 3\n", 0o700)
	if got, err := versionOf(filepath.Join(n.folder, "runsc")); got != "2026.3" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	n.write("runsc", "#!/bin/sh\nprintf 'runsc version 2026'; exit 3\n", 0o700)
	if got, err := versionOf(filepath.Join(n.folder, "runsc")); err == nil {
		t.Errorf("a part of the line counts as %q", got)
	}
}

func TestRunscIsAskedAgainForTheBuildIfItFailsOnce(t *testing.T) {
	n := newNode(t)
	n.write("runsc", "#!/bin/sh\nmkdir \"$0.asked\" && exit 3\necho runsc version 2026.4\n", 0o700)
	if got := n.buildIn(n.request("s1", "", "")); got != "2026.4" {
		t.Errorf("config.json says %q", got)
	}
}

func TestAPodThatMayBeCapturedWaitsForTheBuildOfRunscButNotForEver(t *testing.T) {
	n := newNode(t)
	n.write("runsc", "#!/bin/sh\nexit 3\n", 0o700)
	n.refuses("at first", n.request("s1", "", ""))
	n.wants("a Pod that is never captured", n.withoutHibernation(n.request("s2", "", "")), "create", "start")
	n.runs(100_000*time.Second + longestTrouble)
	if got := n.buildIn(n.request("s1", "", "")); got != "" {
		t.Errorf("config.json says %q", got)
	}
}

func mountOf(t *testing.T, number int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", number))
	found := regexp.MustCompile(`mnt_id:\s*(\d+)`).FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("%s, %v", text, err)
	}
	return string(found[1])
}

func TestTheMountOfMemoryHasWhatGvisorKeepsInMemoryAndNoFileOfThatName(t *testing.T) {
	memory, err := unix.MemfdCreate("runsc-memory", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(memory)
	file, err := os.Create(filepath.Join(t.TempDir(), "memfd:runsc-memory"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	mount, err := memoryMount()
	if err != nil || mount != mountOf(t, memory) || mount == mountOf(t, int(file.Fd())) {
		t.Errorf("%q, %v; the memory is on %s, and the file on %s", mount, err, mountOf(t, memory), mountOf(t, int(file.Fd())))
	}
}
