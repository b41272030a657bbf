package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// mark is a file beside an image that says what became of one use of it. There is one for the Pod and one for each
// container. A container that finds its mark starts anew.
type mark struct {
	path string
	// Pod is its UID.
	Pod string `json:"pod"`
	// Container is the id of the container at containerd.
	Container string `json:"container"`
	// Outcome is one of restoring, restored, refused and failed.
	Outcome string `json:"outcome"`
	// BeganMs is when the use began, in milliseconds since 1970.
	BeganMs int64  `json:"beganMs,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Containers are those that were captured. Only the mark of the Pod has them.
	Containers []string `json:"containers,omitempty"`
}

// markPath names the mark of a container; that of the Pod has no name of a container.
func markPath(image, container string) string {
	if container == "" {
		return image + ".json"
	}
	return image + "." + container + ".json"
}

// found is what the mark says that is there. Its text may be malformed: then it is a use of nobody knows whom.
func (m *mark) found() (found mark, isThere bool, err error) {
	found, err = readMark(m.path)
	if errors.Is(err, os.ErrNotExist) {
		return found, false, nil
	}
	if isUnknown(err) {
		return found, false, err
	}
	return found, true, nil
}

// claim makes the mark. It returns false if the mark is there already. The mark gets its name last, with its whole text on
// the disk. So an error, as of a full disk, is no use of the image.
func (m *mark) claim() (bool, error) {
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return false, err
	}
	m.Outcome = "restoring"
	text, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	next, err := writeNext(m.path, text)
	if err != nil {
		return false, err
	}
	err = os.Link(next, m.path)
	if removed := os.Remove(next); err == nil && removed != nil {
		return false, errors.Join(removed, m.release())
	}
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := syncFolder(m.path); err != nil {
		return false, errors.Join(err, m.release())
	}
	return true, nil
}

// takeOver makes a mark of an earlier container that was not restored the mark of this one.
func (m *mark) takeOver() (bool, error) {
	err := m.conclude("restoring", nil)
	return err == nil, err
}

// release takes a claim back. Nothing must have been restored for it.
func (m *mark) release() error {
	if err := os.Remove(m.path); err != nil {
		return err
	}
	return syncFolder(m.path)
}

// conclude writes the outcome to the disk before it returns: after a power cut the image must still count as used.
func (m *mark) conclude(outcome string, reason error) error {
	m.Outcome = outcome
	if reason != nil {
		m.Reason = reason.Error()
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return replaceFile(m.path, text)
}

func readMark(path string) (mark, error) {
	var found mark
	text, err := os.ReadFile(path)
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal(text, &found)
}

// replaceFile writes a file in one step that lasts: a reader sees the old text or the new one.
func replaceFile(path string, text []byte) error {
	next, err := writeNext(path, text)
	if err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return syncFolder(path)
}

// writeNext writes the text beside a file, to the disk, and returns the path. Each container has a shim, and several may
// write the same file, so each writes its own next text.
func writeNext(path string, text []byte) (string, error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return "", err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(0o600), file.Sync(), file.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// syncFolder has the disk remember the name of a file.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// unfinishedAfter is longer than a shim takes to write a file.
const unfinishedAfter = 60 * time.Second

// removeUnfinished removes what shims had begun to write beside a file when they were killed.
func removeUnfinished(path string) {
	found, _ := filepath.Glob(path + ".*.new")
	for _, next := range found {
		if file, err := os.Stat(next); err == nil && time.Since(file.ModTime()) > unfinishedAfter {
			os.Remove(next)
		}
	}
}
