package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
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

// longestTrouble is how long a Pod waits for an image that cannot be read. A disk with a damaged block never tells more.
const longestTrouble = 300 * time.Second

// isWorthAnotherTry tells whether the trouble with an image may still pass. The kubelet tries again. A file beside the image
// says since when there is trouble.
func isWorthAnotherTry(image string) bool {
	path := image + ".trouble"
	known, err := os.Stat(path)
	if err == nil {
		age := time.Since(known.ModTime())
		return age >= 0 && age < longestTrouble
	}
	if file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		file.Close()
	}
	return true
}
