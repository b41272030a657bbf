package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// runs says for how long the node has run.
func (n node) runs(uptime time.Duration) {
	n.Helper()
	n.write("uptime", fmt.Sprintf("%.2f 1.0\n", uptime.Seconds()), 0o600)
}

func TestTheClockThatMayBeSetSaysNothingAboutATrouble(t *testing.T) {
	n := newNode(t)
	n.write("runsc", "#!/bin/sh\nexit 3\n", 0o700)
	n.refuses("at first", n.request("s1", "", "g1"))
	note, err := os.Stat(n.image + ".trouble")
	if want := time.Unix(100_000, 0); err != nil || !note.ModTime().Equal(want) {
		t.Errorf("the note is of %v, and not of %v after the start of the node", note.ModTime(), want)
	}
	n.refuses("a second later", n.request("s1", "", "g1"))
}

func TestATroubleOfAnEarlierRunOfTheNodeCountsAnewAndHasAnEnd(t *testing.T) {
	n := newNode(t)
	n.write("runsc", "#!/bin/sh\nexit 3\n", 0o700)
	n.refuses("before the start of the node", n.request("s1", "", "g1"))
	n.runs(time.Minute)
	n.refuses("after it", n.request("s1", "", "g1"))
	n.runs(2 * time.Minute)
	n.refuses("a minute later", n.request("s1", "", "g1"))
	n.runs(time.Minute + longestTrouble)
	n.wants("after a long time", n.request("s1", "", "g1"), "create", "start")
}

func TestNoNoteOfATroubleStaysForever(t *testing.T) {
	n := newNode(t)
	n.readOnlyDisk()
	isWorthAnotherTry(n.image)
	n.runs(100_000*time.Second + longestNote + time.Second)
	isWorthAnotherTry(n.image + "-2")
	if _, err := os.Stat(troubleElsewhere(n.image)); err == nil {
		t.Error("the note of an image that nobody asks for is there")
	}
	refused := refusal{Pod: "uid-s1", Reason: "ImageMissing"}
	elsewhere := filepath.Join(n.folder, "images-2", "g1")
	noteTrouble(troubleElsewhere(elsewhere), time.Second)
	if err := refused.write(elsewhere); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(troubleElsewhere(elsewhere)); err == nil {
		t.Error("the note of an image that was refused is there")
	}
}

func TestWhatAKilledShimHasLeftBesideTheIdOfTheStoreGoes(t *testing.T) {
	n := newNode(t)
	left, young := knownStoreFile+".123.new", knownStoreFile+".124.new"
	for _, path := range []string{left, young} {
		n.write(filepath.Base(path), "store", 0o600)
	}
	old := time.Now().Add(-2 * unfinishedAfter)
	os.Chtimes(left, old, old)
	if err := noteStore("store-1", ""); err != nil {
		t.Error(err)
	}
	if found, _ := filepath.Glob(knownStoreFile + "*.new"); len(found) != 1 || found[0] != young {
		t.Errorf("left: %q", found)
	}
}
