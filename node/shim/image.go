package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// imageStore is the folder of all images of a node. A Pod finds only those of its own namespace and name in it.
var imageStore = "/var/lib/rouse/images"

// description is the file of an image that is written last. Without it an image is not complete.
const description = "image.json"

// imageName has no dot and no slash: it is a folder, and marks are named after it.
var imageName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// checkImage returns an error if gVisor could not restore a container from an image, as far as that is known before.
// The container that holds the Pod together has no name.
func checkImage(image, container, runsc string) error {
	text, err := os.ReadFile(filepath.Join(image, description))
	if err != nil {
		return err
	}
	var described struct {
		Runsc      string
		Containers []string
		Files      map[string]int64
	}
	if err := json.Unmarshal(text, &described); err != nil {
		return fmt.Errorf("%s: %w", description, err)
	}
	if container != "" && !slices.Contains(described.Containers, container) {
		return fmt.Errorf("the image has the containers %q, and not %q", described.Containers, container)
	}
	if _, isNamed := described.Files["checkpoint.img"]; !isNamed {
		return fmt.Errorf("%s does not name checkpoint.img", description)
	}
	for name, size := range described.Files {
		file, err := os.Stat(filepath.Join(image, filepath.Base(name)))
		if err != nil {
			return err
		}
		if file.Size() != size {
			return fmt.Errorf("%s has %d bytes, and not %d", name, file.Size(), size)
		}
	}
	version, err := versionOf(runsc)
	if err != nil {
		return err
	}
	if described.Runsc != version {
		return fmt.Errorf("the image was made by runsc %q; this node has %q", described.Runsc, version)
	}
	return nil
}

// longestVersion bounds the wait for an answer that takes runsc less than 0.1 s.
const longestVersion = 5 * time.Second

// versionOf asks runsc for the stamp of its build.
func versionOf(runsc string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), longestVersion)
	defer cancel()
	output, err := exec.CommandContext(ctx, runsc, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", runsc, err)
	}
	line, _, _ := strings.Cut(string(output), "\n")
	return strings.TrimPrefix(line, "runsc version "), nil
}

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
