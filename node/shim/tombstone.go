package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// tombstones is the folder in which the node agent names the Pods that are being captured, or are captured.
var tombstones = "/var/lib/rouse/tombstones"

// refuseCaptured returns an error for a Pod that has a tombstone: its memory may be restored elsewhere, so it must not
// get a second life here. The kubelet restarts what has ended, and does not know of the capture.
func refuseCaptured(pod string) error {
	_, err := os.Stat(filepath.Join(tombstones, filepath.Base(pod)+".json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot tell whether the Pod %s is captured: %w", pod, err)
	}
	return fmt.Errorf("the Pod %s is captured, so it must not start again", pod)
}
