package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/api/runtime/task/v2"
	"github.com/containerd/log"
	"gvisor.dev/gvisor/pkg/shim/v1/extension"
)

// imageAnnotation asks for the memory of an earlier Pod. containerd passes it from the Pod to each of its containers.
const imageAnnotation = "hibernation.rouse.dev/image"

// newExtension is called once for each container, before gVisor creates it. A container whose Pod does not ask for
// its memory gets no extension: every call of it goes to gVisor directly.
func newExtension(ctx context.Context, next extension.TaskServiceExt, request *task.CreateTaskRequest) (extension.TaskServiceExt, error) {
	annotations, err := annotationsOf(request.Bundle)
	if err != nil {
		return nil, err
	}
	image := annotations[imageAnnotation]
	if image == "" {
		return nil, nil
	}
	return &container{TaskServiceExt: next, id: request.ID, image: image}, nil
}

// newPodExtension is called instead if a setting of gVisor, `grouping`, has one shim serve all containers of a Pod.
// That shim keeps one extension for all of them, which cannot tell them apart.
func newPodExtension(ctx context.Context, next extension.TaskServiceExt, request *task.CreateTaskRequest) (extension.TaskServiceExt, error) {
	service, err := newExtension(ctx, next, request)
	if service != nil {
		return nil, fmt.Errorf("the Pod asks for its memory; that needs gVisor's shim without `grouping`")
	}
	return nil, err
}

// container is a container whose Pod asks for its memory. Calls without a method here go to gVisor: Create, Kill and
// Delete among them.
type container struct {
	extension.TaskServiceExt
	id, image string
}

// Start starts the container, or a process that was added to it by exec. This build restores nothing.
func (c *container) Start(ctx context.Context, request *task.StartRequest) (*task.StartResponse, error) {
	if request.ID == c.id && request.ExecID == "" {
		log.G(ctx).Warnf("container %s starts anew: shim %s cannot restore image %s", c.id, version, c.image)
	}
	return c.TaskServiceExt.Start(ctx, request)
}

// annotationsOf reads the annotations of a container from its OCI bundle.
func annotationsOf(bundle string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil {
		return nil, err
	}
	var config struct{ Annotations map[string]string }
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("config.json of %s: %w", bundle, err)
	}
	return config.Annotations, nil
}
