package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// unknown is an error that says nothing about an image: the node has some trouble that may pass.
type unknown struct{ error }

func (u unknown) Unwrap() error { return u.error }

// isUnknown tells whether a check has failed for another reason than that the image is not what was captured. A file that is
// missing, or is a link, says that.
func isUnknown(err error) bool {
	var found unknown
	if errors.As(err, &found) {
		return true
	}
	var malformed *json.SyntaxError
	var number syscall.Errno
	isAnswer := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR)
	return !isAnswer && !errors.As(err, &malformed) && errors.As(err, &number)
}

// longestTrouble is how long a Pod waits for an image that cannot be read, or for the build of runsc. A disk with a damaged block never tells more.
const longestTrouble = 300 * time.Second

// troubleFolder has the notes that a full or read-only store does not take. It is in memory: a start of the node ends all waits.
var troubleFolder = "/run/rouse"

// longestNote is how long a note in that folder may be of use.
const longestNote = 3600 * time.Second

// isWorthAnotherTry tells whether the trouble with an image, or of a Pod with runsc, may still pass. The kubelet tries again. A file says since when
// there is trouble. If that can be noted nowhere, no try is known to be one of the last, so this was the last one.
func isWorthAnotherTry(image string) bool {
	now, err := uptime()
	if err != nil {
		return false
	}
	notes := []string{image + ".trouble", troubleElsewhere(image)}
	for _, path := range notes {
		if age, isKnown := ageOf(path, now); isKnown {
			return age < longestTrouble
		}
	}
	removeOldNotes(now)
	return slices.ContainsFunc(notes, func(path string) bool { return noteTrouble(path, now) })
}

// ageOf tells for how long there is trouble. The time of a note is since the start of the node: the clock may be set while a Pod waits.
// A note with a later time is of an earlier run of the node, and says nothing.
func ageOf(note string, now time.Duration) (age time.Duration, isKnown bool) {
	file, err := os.Stat(note)
	if err != nil {
		return 0, false
	}
	age = now - file.ModTime().Sub(time.Unix(0, 0))
	return age, age >= 0
}

// removeOldNotes removes those of images that nobody asks for any more.
func removeOldNotes(now time.Duration) {
	notes, _ := filepath.Glob(filepath.Join(troubleFolder, "*.trouble"))
	for _, note := range notes {
		if age, isKnown := ageOf(note, now); isKnown && age > longestNote {
			os.Remove(note)
		}
	}
}

func troubleElsewhere(image string) string {
	sum := sha256.Sum256([]byte(image))
	return filepath.Join(troubleFolder, hex.EncodeToString(sum[:])+".trouble")
}

func noteTrouble(path string, now time.Duration) bool {
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return false
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	file.Close()
	since := time.Unix(0, 0).Add(now)
	return os.Chtimes(path, since, since) == nil
}
