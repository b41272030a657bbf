package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/log"
)

// storeAnnotation names the store that has the memory, as the controller knows it.
const storeAnnotation = "hibernation.rouse.dev/store"

// runHashAnnotation is on each Pod that may hibernate.
const runHashAnnotation = "hibernation.rouse.dev/run-hash"

// storeFile says which store this is. The node agent writes it.
var storeFile = "/var/lib/rouse/store.json"

// knownStoreFile has the id of the last store that was there. It is beside the folder on which the disk is mounted.
var knownStoreFile = "/var/lib/rouse-store-id"

// uptimeFile says in seconds for how long the node has run.
var uptimeFile = "/proc/uptime"

// longestMount is how long after its start a node is given to mount the disk of the store. The agent waits as long.
const longestMount = 10 * time.Minute

type storeIdentity struct {
	ID       string
	Replaces []string
}

func readStore() (found storeIdentity, err error) {
	text, err := os.ReadFile(storeFile)
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	return found, err
}

func (s storeIdentity) standsFor(id string) bool {
	return s.ID == id || slices.Contains(s.Replaces, id)
}

// checkStore returns an error if the store is not the one that has the memory. If its disk is not mounted, the memory is
// not gone. The agent says when a disk does not come back: then another store stands for it.
func checkStore(wanted string) error {
	if wanted == "" {
		return nil
	}
	found, err := readStore()
	if err != nil {
		return fmt.Errorf("the store with the memory of the Pod is not there: %w", err)
	}
	if !found.standsFor(wanted) {
		return fmt.Errorf("the memory of the Pod is in the store %s, and this one is %s", wanted, found.ID)
	}
	return nil
}

// awaitStore returns an error as long as the disk with the tombstones may still be mounted. Until then nobody can tell whether
// a Pod that may hibernate is captured. A node that has run for a while has the disk, or does not get it.
func awaitStore() error {
	known, err := os.ReadFile(knownStoreFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot tell which store this node has: %w", err)
	}
	found, missing := readStore()
	if missing == nil && found.ID != "" && (len(known) == 0 || found.standsFor(string(known))) {
		return noteStore(found.ID, string(known))
	}
	if len(known) == 0 || hasRunFor(longestMount) {
		if missing == nil && found.ID != "" {
			return noteStore(found.ID, string(known))
		}
		return nil
	}
	return fmt.Errorf("the store %s of this node is not there, so nobody can tell whether the Pod is captured: %v", known, missing)
}

// noteStore keeps no Pod from its start: without the note, the next start of the node knows less.
func noteStore(id, known string) error {
	if id != known {
		removeUnfinished(knownStoreFile)
		if err := replaceFile(knownStoreFile, []byte(id)); err != nil {
			log.L.Warnf("cannot note which store this node has: %v", err)
		}
	}
	return nil
}

// hasRunFor tells whether the node was started longer ago. If that is not known, it was.
func hasRunFor(least time.Duration) bool {
	found, err := uptime()
	return err != nil || found >= least
}

// uptime is for how long the node has run.
func uptime() (time.Duration, error) {
	text, err := os.ReadFile(uptimeFile)
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	return time.Duration(seconds * float64(time.Second)), err
}

// longestLook is how long the store may take for an answer. A disk that hangs would otherwise keep containerd for ever.
var longestLook = 5 * time.Second

// mostLooksAtOnce bounds the looks that wait for a disk that hangs: each keeps a thread.
const mostLooksAtOnce = 8

var looksAtOnce = make(chan struct{}, mostLooksAtOnce)

// answerInTime asks the store. A look that has not ended in time goes on, and nobody waits for it.
func answerInTime[T any](look func() (T, error)) (found T, err error) {
	return answerInTimeOr(look, func(T) {})
}

// answerInTimeOr is for a look that leaves something: late gets what was found after nobody waited any more.
func answerInTimeOr[T any](look func() (T, error), late func(found T)) (found T, err error) {
	type answer struct {
		found T
		err   error
	}
	limit := time.After(longestLook)
	select {
	case looksAtOnce <- struct{}{}:
	case <-limit:
		return found, errSilent
	}
	answers, gone := make(chan answer), make(chan struct{})
	go func() {
		found, err := look()
		<-looksAtOnce
		select {
		case answers <- answer{found, err}:
		case <-gone:
			late(found)
		}
	}()
	select {
	case got := <-answers:
		return got.found, got.err
	case <-limit:
		close(gone)
		return found, errSilent
	}
}

var errSilent = errors.New("the store of this node does not answer")

func inTime(look func() error) error {
	_, err := answerInTime(func() (struct{}, error) { return struct{}{}, look() })
	return err
}
