package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// storeAnnotation names the store that has the memory, as the controller knows it.
const storeAnnotation = "hibernation.rouse.dev/store"

// storeFile says which store this is. The node agent writes it.
var storeFile = "/var/lib/rouse/store.json"

// checkStore returns an error if the store is not the one that has the memory. If its disk is not mounted, the memory is
// not gone. The agent says when a disk does not come back: then another store stands for it.
func checkStore(wanted string) error {
	if wanted == "" {
		return nil
	}
	var found struct {
		ID       string
		Replaces []string
	}
	text, err := os.ReadFile(storeFile)
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		return fmt.Errorf("the store with the memory of the Pod is not there: %w", err)
	}
	if found.ID != wanted && !slices.Contains(found.Replaces, wanted) {
		return fmt.Errorf("the memory of the Pod is in the store %s, and this one is %s", wanted, found.ID)
	}
	return nil
}
