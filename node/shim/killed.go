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

// noteKillTries is for a folder that goes with the last container in it at the same moment.
const noteKillTries = 3

// noteKill comes before the signal. It tells whether the note is new.
func noteKill(pod, container string) (isNew bool, err error) {
	path := killedFile(pod, container)
	for range noteKillTries {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return false, err
		}
		var file *os.File
		file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return true, file.Close()
		}
		if errors.Is(err, os.ErrExist) {
			return false, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
	}
	return false, err
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

// noteKill tells whether the note is new. It leaves out the container that holds the Pod together, in which nothing of the Pod
// runs.
func (c *container) noteKill() (isNew bool, err error) {
	if c.id == c.sandbox.id || !c.mayHibernate {
		return false, nil
	}
	return answerInTime(func() (bool, error) { return noteKill(c.pod, c.id) })
}

func (c *container) forgetKill() error {
	if !c.mayHibernate {
		return nil
	}
	return inTime(func() error { return forgetKill(c.pod, c.id) })
}
