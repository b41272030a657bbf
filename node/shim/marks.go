package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
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
}

// markPath names the mark of a container; that of the Pod has no name of a container.
func markPath(image, container string) string {
	if container == "" {
		return image + ".json"
	}
	return image + "." + container + ".json"
}

// claim makes the mark. It returns false if the mark is there already.
func (m *mark) claim() (bool, error) {
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return false, err
	}
	file, err := os.OpenFile(m.path, os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	file.Close()
	return true, m.conclude("restoring", nil)
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

// replaceFile writes a file in one step that lasts: a reader sees the old text or the new one. Each container has a shim,
// and several may write the same file, so each writes its own next text.
func replaceFile(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(0o600), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
