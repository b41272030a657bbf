package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/containerd/api/runtime/task/v2"
	"github.com/containerd/containerd/v2/pkg/protobuf/types"
	"gvisor.dev/gvisor/pkg/shim/v1/extension"
)

var errOfGvisor = errors.New("gVisor refuses")

// gvisor stands for gVisor's own service: it records the calls that reach it, and fails each of them.
type gvisor struct {
	extension.TaskServiceExt
	calls []string
}

func (g *gvisor) Create(context.Context, *task.CreateTaskRequest) (*task.CreateTaskResponse, error) {
	g.calls = append(g.calls, "create")
	return nil, errOfGvisor
}

func (g *gvisor) Start(_ context.Context, r *task.StartRequest) (*task.StartResponse, error) {
	g.calls = append(g.calls, "start "+r.ExecID)
	return nil, errOfGvisor
}

func (g *gvisor) Kill(context.Context, *task.KillRequest) (*types.Empty, error) {
	g.calls = append(g.calls, "kill")
	return nil, errOfGvisor
}

func (g *gvisor) Delete(context.Context, *task.DeleteRequest) (*task.DeleteResponse, error) {
	g.calls = append(g.calls, "delete")
	return nil, errOfGvisor
}

func requestWith(t *testing.T, config string) *task.CreateTaskRequest {
	t.Helper()
	bundle := t.TempDir()
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return &task.CreateTaskRequest{ID: "c1", Bundle: bundle}
}

func TestAContainerThatAsksForNoMemoryIsGvisorsAlone(t *testing.T) {
	for _, config := range []string{`{}`, `{"annotations":{"other":"g1"}}`, `{"annotations":{"hibernation.rouse.dev/image":""}}`} {
		got, err := newExtension(context.Background(), &gvisor{}, requestWith(t, config))
		if got != nil || err != nil {
			t.Errorf("%s: got %v, %v", config, got, err)
		}
	}
}

func TestEveryCallOfAContainerThatAsksForItsMemoryReachesGvisorOnce(t *testing.T) {
	ctx, next := context.Background(), &gvisor{}
	request := requestWith(t, `{"annotations":{"hibernation.rouse.dev/image":"g1"}}`)
	service, err := newExtension(ctx, next, request)
	if err != nil {
		t.Fatal(err)
	}
	_, create := service.Create(ctx, request)
	_, start := service.Start(ctx, &task.StartRequest{ID: "c1"})
	_, exec := service.Start(ctx, &task.StartRequest{ID: "c1", ExecID: "shell"})
	_, kill := service.Kill(ctx, &task.KillRequest{ID: "c1"})
	_, remove := service.Delete(ctx, &task.DeleteRequest{ID: "c1"})
	if want := []string{"create", "start ", "start shell", "kill", "delete"}; !slices.Equal(next.calls, want) {
		t.Errorf("gVisor got %q, not %q", next.calls, want)
	}
	for _, err := range []error{create, start, exec, kill, remove} {
		if !errors.Is(err, errOfGvisor) {
			t.Errorf("containerd gets %v", err)
		}
	}
}

func TestAContainerIsNotCreatedIfItsAnnotationsCannotBeRead(t *testing.T) {
	for _, request := range []*task.CreateTaskRequest{{ID: "c1", Bundle: t.TempDir()}, requestWith(t, `{`)} {
		if _, err := newExtension(context.Background(), &gvisor{}, request); err == nil {
			t.Errorf("no error for the bundle %s", request.Bundle)
		}
	}
}

func TestAShimOfAWholePodCreatesOnlyContainersThatAskForNoMemory(t *testing.T) {
	if got, err := newPodExtension(context.Background(), &gvisor{}, requestWith(t, `{}`)); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	asking := requestWith(t, `{"annotations":{"hibernation.rouse.dev/image":"g1"}}`)
	if _, err := newPodExtension(context.Background(), &gvisor{}, asking); err == nil {
		t.Error("no error for a container that asks for its memory")
	}
}

func TestTheAddressIsTakenFromTheAnswerToStart(t *testing.T) {
	address, err := addressIn(strings.NewReader(`{"version":2,"address":"unix:///run/s/1","protocol":"ttrpc"}`))
	if address != "unix:///run/s/1" || err != nil {
		t.Errorf("got %q, %v", address, err)
	}
	for _, answer := range []string{"", "unix:///run/s/1", `{"version":2}`} {
		if address, err := addressIn(strings.NewReader(answer)); err == nil {
			t.Errorf("the answer %q gave the address %q", answer, address)
		}
	}
}

func TestOnlyAContainerdThatNamesNoVersionGetsABareAddress(t *testing.T) {
	t.Setenv("MAX_SHIM_VERSION", "2")
	if wantsBareAddress() {
		t.Error("containerd 1.7 and newer read JSON")
	}
	t.Setenv("MAX_SHIM_VERSION", "")
	if !wantsBareAddress() {
		t.Error("containerd 1.6 reads a bare address")
	}
}
