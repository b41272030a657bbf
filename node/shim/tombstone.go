package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
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

// longestCapture is more than the node agent allows a capture. An agent that has ended must not keep a Pod from its end.
const longestCapture = 75 * time.Second

// isBeingCaptured tells whether a capture of the Pod has begun, has no image yet, and may still get one.
func isBeingCaptured(pod string) bool {
	path := filepath.Join(tombstones, filepath.Base(pod)+".json")
	file, err := os.Stat(path)
	if err != nil {
		return false
	}
	// A clock that has jumped back says nothing of the age. Then the Pod may end.
	if age := time.Since(file.ModTime()); age < 0 || age > longestCapture {
		return false
	}
	text, err := os.ReadFile(path)
	var tombstone struct {
		Namespace, Pod, Image string
		IsFinal               bool
	}
	if err != nil || json.Unmarshal(text, &tombstone) != nil || tombstone.IsFinal || tombstone.Image == "" {
		return false
	}
	_, err = os.Stat(filepath.Join(imageStore, tombstone.Namespace, tombstone.Pod, tombstone.Image, descriptionFile))
	return errors.Is(err, os.ErrNotExist)
}

func (c *container) refuseCaptured() error {
	if !c.mayHibernate {
		return nil
	}
	return inTime(func() error { return refuseCaptured(c.pod) })
}

// isBeingCaptured is false if the store does not answer: no capture of that Pod comes to its end then, and the Pod must.
func (c *container) isBeingCaptured() bool {
	if !c.mayHibernate {
		return false
	}
	found, err := answerInTime(func() (bool, error) { return isBeingCaptured(c.pod), nil })
	return err == nil && found
}
