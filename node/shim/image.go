package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// imageStore is the folder of all images of a node. A Pod finds only those of its own namespace and name in it.
var imageStore = "/var/lib/rouse/images"

// descriptionFile is the file of an image that is written last. Without it an image is not complete.
const descriptionFile = "image.json"

// imageName has no dot and no slash: it is a folder, and marks are named after it.
var imageName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// description is what an image says of itself.
type description struct {
	Runsc      string
	Containers []string
	Files      map[string]fileFacts
	// Configs has the hash of what each container ran, by its name.
	Configs map[string]string
	// SandboxUID and RunHash are of the MemoryImage.
	SandboxUID, RunHash string
	// hash is that of image.json.
	hash string
}

type fileFacts struct {
	Bytes  int64
	SHA256 string
}

// longestDescription bounds what is read of image.json.
const longestDescription = 1 << 20

func readDescription(image string) (description, error) {
	var described description
	file, err := openRegular(filepath.Join(image, descriptionFile))
	if err != nil {
		return described, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestDescription))
	if err != nil {
		return described, err
	}
	if err := json.Unmarshal(text, &described); err != nil {
		return described, fmt.Errorf("%s: %w", descriptionFile, err)
	}
	sum := sha256.Sum256(text)
	described.hash = hex.EncodeToString(sum[:])
	return described, nil
}

// openRegular opens a file that is no link, no pipe and no device.
func openRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// check returns an error if gVisor could not restore a container from an image, as far as that is known without its
// bytes. The container that holds the Pod together has no name.
func (d description) check(image, container string, of claim) error {
	if container != "" && !slices.Contains(d.Containers, container) {
		return fmt.Errorf("the memory image has the containers %q, and not %q", d.Containers, container)
	}
	if _, isNamed := d.Files["checkpoint.img"]; !isNamed {
		return fmt.Errorf("%s does not name checkpoint.img", descriptionFile)
	}
	if d.Configs[container] != of.config {
		return fmt.Errorf("the container %q would run something else than the captured one: %s, and not %q", container, of.config, d.Configs[container])
	}
	if err := d.checkNames(image); err != nil {
		return err
	}
	version, err := versionOf(of.runsc)
	if err != nil {
		return err
	}
	if d.Runsc != version {
		return fmt.Errorf("the memory image was made by runsc %q; this node has %q", d.Runsc, version)
	}
	return nil
}

// checkNames compares the folder with the names and sizes in its description. gVisor reads files by their names.
func (d description) checkNames(image string) error {
	entries, err := os.ReadDir(image)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, isNamed := d.Files[entry.Name()]; !isNamed && entry.Name() != descriptionFile {
			return fmt.Errorf("%s does not name the file %q", descriptionFile, entry.Name())
		}
	}
	for name, facts := range d.Files {
		if name != filepath.Base(name) {
			return fmt.Errorf("%q is not the name of a file", name)
		}
		info, err := os.Lstat(filepath.Join(image, name))
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
		if info.Size() != facts.Bytes {
			return fmt.Errorf("%s has %d bytes, and not %d", name, info.Size(), facts.Bytes)
		}
	}
	return nil
}

// checkBytes compares the content of all files with their hashes.
func (d description) checkBytes(image string) error {
	for name, facts := range d.Files {
		file, err := openRegular(filepath.Join(image, name))
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.CopyBuffer(sum, onlyReader{file}, make([]byte, 1<<20))
		file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if hex.EncodeToString(sum.Sum(nil)) != facts.SHA256 {
			return fmt.Errorf("the bytes of %s are not those that were captured", name)
		}
	}
	return nil
}

// onlyReader keeps io.CopyBuffer from other ways to copy, so that it uses the buffer.
type onlyReader struct{ io.Reader }

// longestVersion bounds the wait for an answer that takes runsc less than 0.1 s.
const longestVersion = 5 * time.Second

// askedRunsc is the file that was asked last, and its answer: the shim of a Pod that is restored needs it twice.
var askedRunsc struct {
	sync.Mutex
	file    os.FileInfo
	version string
}

// versionLine begins the first line of the answer.
const versionLine = "runsc version "

// versionOf asks runsc for the stamp of its build. A whole first line is the answer, whatever became of the process: containerd's shim waits
// for all children, so it may take the exit status first.
func versionOf(runsc string) (string, error) {
	askedRunsc.Lock()
	defer askedRunsc.Unlock()
	path, err := exec.LookPath(runsc)
	if err != nil {
		return "", unknown{err}
	}
	file, err := os.Stat(path)
	if err != nil {
		return "", unknown{err}
	}
	if last := askedRunsc.file; last != nil && os.SameFile(last, file) && last.ModTime().Equal(file.ModTime()) && last.Size() == file.Size() {
		return askedRunsc.version, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestVersion)
	defer cancel()
	output, err := exec.CommandContext(ctx, path, "--version").Output()
	line, _, isWhole := strings.Cut(string(output), "\n")
	version, isAnswer := strings.CutPrefix(line, versionLine)
	if err != nil && !(isWhole && isAnswer) {
		return "", unknown{fmt.Errorf("%s --version: %w", runsc, err)}
	}
	askedRunsc.file, askedRunsc.version = file, version
	return askedRunsc.version, nil
}
