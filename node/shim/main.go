// Program containerd-shim-rouse-v1 is gVisor's own containerd shim, whose extension point leads to seam.go.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"gvisor.dev/gvisor/pkg/shim/v1/extension"
	"gvisor.dev/gvisor/shim/v1/cli"
)

// version names the build. The linker sets it.
var version = "unstamped"

func main() {
	last := os.Args[len(os.Args)-1]
	if last == "-v" {
		fmt.Println("containerd-shim-rouse-v1", version)
		return
	}
	extension.NewExtension = newExtension
	extension.NewPodExtension = newPodExtension
	if last == "start" && wantsBareAddress() {
		startForOldContainerd()
		return
	}
	cli.Main()
}

// wantsBareAddress tells whether containerd is older than 1.7. It then expects the bare address of a new shim where
// newer ones expect JSON, and it does not say which answers it understands.
func wantsBareAddress() bool { return os.Getenv("MAX_SHIM_VERSION") == "" }

// startForOldContainerd runs gVisor's `start`, and prints only the address of its answer.
func startForOldContainerd() {
	stdout := os.Stdout
	reader, writer, err := os.Pipe()
	if err != nil {
		fail(err)
	}
	os.Stdout = writer
	cli.Main() // it exits by itself if it fails; its answer is smaller than the buffer of a pipe
	writer.Close()
	address, err := addressIn(reader)
	if err != nil {
		fail(err)
	}
	fmt.Fprint(stdout, address)
}

func addressIn(answer io.Reader) (string, error) {
	var parameters struct{ Address string }
	if err := json.NewDecoder(answer).Decode(&parameters); err != nil {
		return "", fmt.Errorf("gVisor's answer to start: %w", err)
	}
	if parameters.Address == "" {
		return "", fmt.Errorf("gVisor's answer to start has no address")
	}
	return parameters.Address, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "containerd-shim-rouse-v1:", err)
	os.Exit(1)
}
