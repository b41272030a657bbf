package main

import (
	"errors"
	"os"
	"path/filepath"
)

// killedFolder has a folder for each Pod with a file for each container that was told to end. The node agent does not keep
// the memory of such a Pod: it would have the signal in it.
var killedFolder = "/var/lib/rouse/killed"

func killedFile(pod, container string) string {
	return filepath.Join(killedFolder, filepath.Base(pod), filepath.Base(container))
}

// noteKill comes before the signal.
func noteKill(pod, container string) error {
	path := killedFile(pod, container)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o600)
}

// forgetKill is for a container that is deleted: the kubelet may have made the next one. The folder of the Pod goes with its
// last container.
func forgetKill(pod, container string) error {
	path := killedFile(pod, container)
	err := os.Remove(path)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		os.Remove(filepath.Dir(path)) // not while there are others
		return nil
	}
	return err
}
