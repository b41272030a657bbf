package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/containerd/log"
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

// makeNote is noteKill. Only a test has another one: it stands for a disk that hangs.
var makeNote = noteKill

// noteKill tells whether the note is new. It leaves out the container that holds the Pod together, in which nothing of the Pod
// runs.
func (c *container) noteKill() (isNew bool, err error) {
	if c.id == c.sandbox.id || !c.mayHibernate {
		return false, nil
	}
	return answerInTimeOr(func() (bool, error) { return makeNote(c.pod, c.id) }, c.takeLateNoteBack)
}

// takeLateNoteBack is for a note that a hanging disk took after its kill was answered. If each kill was refused, no signal came, and the note
// would keep the Pod from being captured.
func (c *container) takeLateNoteBack(isNew bool) {
	c.killing.Lock()
	defer c.killing.Unlock()
	if !isNew || c.isToldToEnd {
		return
	}
	if err := c.forgetKill(); err != nil {
		log.L.Warnf("container %s: cannot forget a kill that was refused: %v", c.id, err)
	}
}

func (c *container) forgetKill() error {
	if !c.mayHibernate {
		return nil
	}
	return inTime(func() error { return forgetKill(c.pod, c.id) })
}
