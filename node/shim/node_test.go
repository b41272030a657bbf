package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/containerd/containerd/api/runtime/task/v2"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/protobuf/types"
	"github.com/containerd/typeurl/v2"
	"gvisor.dev/gvisor/pkg/shim/v1/extension"
	"gvisor.dev/gvisor/pkg/shim/v1/runtimeoptions"
)

var errOfGvisor = errors.New("gVisor refuses")

// gvisor stands for gVisor's own service: it records the calls that reach it, and answers each with err.
type gvisor struct {
	extension.TaskServiceExt
	calls  []string
	err    error
	sentry int
	// sawSentry tells whether the sentry was there at the last call of Delete.
	sawSentry bool
	// state answers each call of State; nil is an error.
	state *task.StateResponse
}

func (g *gvisor) State(context.Context, *task.StateRequest) (*task.StateResponse, error) {
	if g.state == nil {
		return nil, errOfGvisor
	}
	return g.state, nil
}

func (g *gvisor) Create(context.Context, *task.CreateTaskRequest) (*task.CreateTaskResponse, error) {
	g.calls = append(g.calls, "create")
	return &task.CreateTaskResponse{Pid: uint32(g.sentry)}, g.err
}

func (g *gvisor) Start(_ context.Context, r *task.StartRequest) (*task.StartResponse, error) {
	g.calls = append(g.calls, strings.TrimSpace("start "+r.ExecID))
	return &task.StartResponse{}, g.err
}

func (g *gvisor) Restore(_ context.Context, r *extension.RestoreRequest) (*task.StartResponse, error) {
	g.calls = append(g.calls, "restore "+filepath.Base(r.Conf.ImagePath))
	return &task.StartResponse{}, g.err
}

func (g *gvisor) Kill(context.Context, *task.KillRequest) (*types.Empty, error) {
	g.calls = append(g.calls, "kill")
	return nil, g.err
}

func (g *gvisor) Delete(context.Context, *task.DeleteRequest) (*task.DeleteResponse, error) {
	g.calls = append(g.calls, "delete")
	g.sawSentry = syscall.Kill(g.sentry, 0) == nil
	return nil, g.err
}

var inKubernetes = namespaces.WithNamespace(context.Background(), "k8s.io")

// node is a node with a Pod `web` in the namespace `shop`, a runsc, and an image `g1` of that Pod.
type node struct {
	*testing.T
	folder, image string
	// key is the controller's.
	key ed25519.PrivateKey
}

func newNode(t *testing.T) node {
	n := node{T: t, folder: t.TempDir(), key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
	beforeStore, beforeTombstones, beforeKeys, beforeFile := imageStore, tombstones, publicKeysFile, storeFile
	beforeKilled, beforeKnown, beforeUptime := killedFolder, knownStoreFile, uptimeFile
	knownStoreFile, uptimeFile = filepath.Join(n.folder, "known-store"), filepath.Join(n.folder, "uptime")
	t.Cleanup(func() { knownStoreFile, uptimeFile = beforeKnown, beforeUptime })
	n.write("uptime", "100000.0 1.0\n", 0o600)
	beforeTrouble := troubleFolder
	troubleFolder = filepath.Join(n.folder, "run")
	t.Cleanup(func() { troubleFolder = beforeTrouble })
	killedFolder = filepath.Join(n.folder, "killed")
	t.Cleanup(func() { killedFolder = beforeKilled })
	imageStore, tombstones = filepath.Join(n.folder, "images"), filepath.Join(n.folder, "tombstones")
	publicKeysFile = filepath.Join(n.folder, "ed25519.pub")
	storeFile = filepath.Join(n.folder, "store.json")
	t.Cleanup(func() {
		imageStore, tombstones, publicKeysFile, storeFile = beforeStore, beforeTombstones, beforeKeys, beforeFile
	})
	n.write("ed25519.pub", base64.StdEncoding.EncodeToString(n.key.Public().(ed25519.PublicKey))+"\n", 0o600)
	n.image = filepath.Join(imageStore, "shop", "web", "g1")
	n.write("runsc", "#!/bin/sh\necho runsc version 2026.1+abc; echo spec: 1.1\n", 0o700)
	n.write("runsc.toml", fmt.Sprintf("root = %q\nbinary_name = %q\n", n.folder, filepath.Join(n.folder, "runsc")), 0o600)
	n.write("images/shop/web/g1/checkpoint.img", "kernel", 0o600)
	n.write("images/shop/web/g1/pages.img", "memory", 0o600)
	configs := map[string]string{}
	for _, name := range []string{"", "app", "side"} {
		_, config, err := noteConfig(n.request("s0", name, "").Bundle, "s0", filepath.Join(n.folder, "runsc"))
		if err != nil {
			t.Fatal(err)
		}
		configs[name] = config
	}
	files := map[string]fileFacts{"checkpoint.img": factsOf("kernel"), "pages.img": factsOf("memory")}
	n.describe(description{Runsc: "2026.1+abc", Containers: []string{"app", "side"}, Files: files, Configs: configs, SandboxUID: "uid-of-web", RunHash: "h"})
	return n
}

func factsOf(text string) fileFacts {
	return fileFacts{Bytes: int64(len(text)), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
}

// describe writes image.json.
func (n node) describe(described description) {
	n.Helper()
	text, err := json.Marshal(described)
	if err != nil {
		n.Fatal(err)
	}
	n.write("images/shop/web/g1/image.json", string(text), 0o600)
}

func (n node) write(name, text string, mode os.FileMode) {
	n.Helper()
	path := filepath.Join(n.folder, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode)); err != nil {
		n.Fatal(err)
	}
}

// request is containerd's to create a container of the sandbox; the one without a name is the sandbox itself.
func (n node) request(sandbox, name, image string) *task.CreateTaskRequest {
	n.Helper()
	annotations := map[string]string{"io.kubernetes.cri.sandbox-id": sandbox, "io.kubernetes.cri.sandbox-uid": "uid-" + sandbox,
		"io.kubernetes.cri.sandbox-namespace": "shop", "io.kubernetes.cri.sandbox-name": "web", runHashAnnotation: "h"}
	id := sandbox
	if name != "" {
		id = sandbox + "-" + name
		annotations["io.kubernetes.cri.container-name"] = name
	}
	if image != "" {
		annotations[imageAnnotation] = image
		annotations[signatureAnnotation] = n.sign(n.permit(sandbox))
	}
	config, _ := json.Marshal(map[string]any{"annotations": annotations, "process": map[string]any{"args": []string{"run", name}}})
	n.write("bundles/"+id+"/config.json", string(config), 0o600)
	options, err := typeurl.MarshalAnyToProto(&runtimeoptions.Options{ConfigPath: filepath.Join(n.folder, "runsc.toml")})
	if err != nil {
		n.Fatal(err)
	}
	return &task.CreateTaskRequest{ID: id, Bundle: filepath.Join(n.folder, "bundles", id), Options: options}
}

// permit is for the Pod of a sandbox, and the image as it is now.
func (n node) permit(sandbox string) permit {
	described, _ := readDescription(n.image)
	return permit{podUID: "uid-" + sandbox, namespace: "shop", pod: "web", sandboxUID: described.SandboxUID, image: "g1",
		imageHash: described.hash, runHash: described.RunHash, runsc: described.Runsc}
}

func (n node) sign(p permit) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(n.key, p.bytes()))
}

// refused is why a Pod was refused that had no right to the image, and whose Pod that was.
func (n node) refused() (found refusal) {
	text, _ := os.ReadFile(n.image + ".refused")
	json.Unmarshal(text, &found)
	return found
}

// edit changes a text in the bundle of a container.
func (n node) edit(request *task.CreateTaskRequest, from, to string) {
	n.Helper()
	path := filepath.Join(request.Bundle, "config.json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.ReplaceAll(string(text), from, to)), 0o600)
	}
	if err != nil {
		n.Fatal(err)
	}
}

// run creates and starts a container, and returns what reached gVisor, and the first error.
func (n node) run(next *gvisor, request *task.CreateTaskRequest) ([]string, error) {
	n.Helper()
	service, err := newExtension(inKubernetes, next, request)
	if err != nil {
		return next.calls, err
	}
	service.(*container).exit = func(int) {}
	if _, err := service.Create(inKubernetes, request); err != nil {
		return next.calls, err
	}
	_, err = service.Start(inKubernetes, &task.StartRequest{ID: request.ID})
	return next.calls, err
}

// wants creates and starts a container, and checks what reached gVisor.
func (n node) wants(what string, request *task.CreateTaskRequest, calls ...string) {
	n.Helper()
	if got, err := n.run(&gvisor{}, request); !slices.Equal(got, calls) || err != nil {
		n.Errorf("%s: gVisor got %q, not %q; %v", what, got, calls, err)
	}
}

// refuses checks that a container is not created.
func (n node) refuses(what string, request *task.CreateTaskRequest) {
	n.Helper()
	if got, err := n.run(&gvisor{}, request); len(got) != 0 || err == nil {
		n.Errorf("%s: gVisor got %q, %v", what, got, err)
	}
}

// open returns the service for a container, and the codes with which its shim ends.
func (n node) open(next *gvisor, request *task.CreateTaskRequest) (*container, <-chan int) {
	n.Helper()
	service, err := newExtension(inKubernetes, next, request)
	if err != nil {
		n.Fatal(err)
	}
	exits := make(chan int)
	opened := service.(*container)
	opened.exit = func(code int) { exits <- code }
	return opened, exits
}

// isMarked tells whether there is a mark of a container.
func (n node) isMarked(container string) bool {
	_, err := os.Lstat(markPath(n.image, container))
	return err == nil
}

// wantsKilled waits for the end of a sentry.
func (n node) wantsKilled(sentry *exec.Cmd) {
	n.Helper()
	if err := sentry.Wait(); err == nil || err.Error() != "signal: killed" {
		n.Errorf("the sentry ended with %v", err)
	}
}

// bury writes the tombstone of the Pod of a sandbox.
func (n node) bury(sandbox string) {
	n.Helper()
	n.write("tombstones/uid-"+sandbox+".json", "{}", 0o600)
}

func (n node) outcome(container string) (string, string) {
	n.Helper()
	found, err := readMark(markPath(n.image, container))
	if err != nil {
		n.Fatal(err)
	}
	return found.Outcome, found.Reason
}

// startSentry starts a process that is named as runsc names the sentry, and its state file.
func (n node) startSentry(sandbox, status string) *exec.Cmd {
	n.Helper()
	sentry := &exec.Cmd{Path: "/bin/sh", Args: []string{"runsc-sandbox", "-c", "read line", sandbox}}
	if _, err := sentry.StdinPipe(); err != nil {
		n.Fatal(err)
	}
	if err := sentry.Start(); err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { sentry.Process.Kill(); sentry.Wait() })
	state := fmt.Sprintf(`{"id":"S","status":%q,"goferPid":12345678901234567,"sandbox":{"pid":%d}}`, status, sentry.Process.Pid)
	n.write("k8s.io/"+sandbox+"_sandbox:"+sandbox+".state", state, 0o600)
	return sentry
}
