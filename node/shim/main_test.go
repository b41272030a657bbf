package main

import (
	"strings"
	"testing"
)

func TestTheAddressIsTakenFromTheAnswerToStart(t *testing.T) {
	address, err := addressIn(strings.NewReader(`{"version":2,"address":"unix:///run/s/1","protocol":"ttrpc"}`))
	if address != "unix:///run/s/1" || err != nil {
		t.Errorf("got %q, %v", address, err)
	}
	for _, answer := range []string{"", "unix:///run/s/1", `{"version":2}`} {
		if address, err := addressIn(strings.NewReader(answer)); err == nil {
			t.Errorf("the answer %q gave the address %q", answer, address)
		}
	}
}

func TestOnlyAContainerdThatNamesNoVersionGetsABareAddress(t *testing.T) {
	t.Setenv("MAX_SHIM_VERSION", "2")
	if wantsBareAddress() {
		t.Error("containerd 1.7 and newer read JSON")
	}
	t.Setenv("MAX_SHIM_VERSION", "")
	if !wantsBareAddress() {
		t.Error("containerd 1.6 reads a bare address")
	}
}
