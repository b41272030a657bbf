package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/containerd/log"
	"golang.org/x/sys/unix"
)

// configAnnotation has the hash of what a container runs. The shim sets it in the bundle, whatever a Pod says. gVisor keeps
// it in the state file of the container, where the node agent reads it.
const configAnnotation = "hibernation.rouse.dev/config-hash"

// runscAnnotation has the build of runsc whose sentry a Pod has. The file may be replaced while the Pod runs, and only this build restores its memory.
const runscAnnotation = "hibernation.rouse.dev/runsc"

// noteConfig reads the OCI bundle of a container before gVisor changes it, and writes the hash of what it runs into it, and what
// the agent has to know of the node and of the runsc that creates the container. It returns the annotations without all that, and the hash.
func noteConfig(bundle, id, runsc string) (map[string]string, string, error) {
	path := filepath.Join(bundle, "config.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	var whole map[string]json.RawMessage
	annotations := map[string]string{}
	err = json.Unmarshal(text, &whole)
	if err == nil && whole["annotations"] != nil {
		err = json.Unmarshal(whole["annotations"], &annotations)
	}
	hash := ""
	if err == nil {
		hash, err = configHash(text, annotations, id)
	}
	if err != nil {
		return nil, "", fmt.Errorf("config.json of %s: %w", bundle, err)
	}
	for _, ours := range []string{configAnnotation, memoryMountAnnotation, runscAnnotation} {
		delete(annotations, ours) // a Pod must not say them
	}
	withOurs, err := noted(annotations, hash, runsc)
	if err != nil {
		return nil, "", err
	}
	if whole["annotations"], err = json.Marshal(withOurs); err != nil {
		return nil, "", err
	}
	if text, err = json.Marshal(whole); err != nil {
		return nil, "", err
	}
	return annotations, hash, os.WriteFile(path, text, 0o600)
}

// noted are the annotations with those of the shim. Without one of them the agent does not capture the Pod. The sentry is of the build of the
// container that holds the Pod together. To ask for it takes a process, so only a Pod that may be captured has it.
func noted(annotations map[string]string, hash, runsc string) (map[string]string, error) {
	found := maps.Clone(annotations)
	found[configAnnotation] = hash
	note := func(name string, value string, err error) {
		if err == nil {
			found[name] = value
		} else {
			log.L.Warnf("cannot tell %s, so the Pod cannot be captured: %v", name, err)
		}
	}
	mount, err := memoryMount()
	note(memoryMountAnnotation, mount, err)
	if annotations[runHashAnnotation] != "" && annotations["io.kubernetes.cri.container-name"] == "" {
		build, err := buildOfSentry(annotations, runsc)
		var later notNow
		if errors.As(err, &later) {
			return nil, err
		}
		note(runscAnnotation, build, err)
	}
	return found, nil
}

// notNow is an error for which the Pod is not created now. The kubelet tries again.
type notNow struct{ error }

// buildOfSentry asks runsc a second time, because the Pod is never captured without the answer. After that the Pod waits, but not for ever.
// A Pod that asks for its memory waits for the same answer when its image is checked.
func buildOfSentry(annotations map[string]string, runsc string) (string, error) {
	build, err := versionOf(runsc)
	if err != nil {
		build, err = versionOf(runsc)
	}
	pod := filepath.Base(annotations["io.kubernetes.cri.sandbox-uid"])
	if err != nil && annotations[imageAnnotation] == "" && isWorthAnotherTry(filepath.Join(troubleFolder, pod)) {
		return "", notNow{err}
	}
	return build, err
}

// configHash is a hash of what a container runs: of all that is the same in each Pod of the same spec on the same node.
func configHash(text []byte, annotations map[string]string, id string) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var config map[string]any
	if err := decoder.Decode(&config); err != nil {
		return "", err
	}
	names := strings.NewReplacer(replacements(annotations, id)...)
	canonical, err := json.Marshal(runsOf(value(config), names))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// replacements are for the names that each Pod has for itself.
func replacements(annotations map[string]string, id string) []string {
	var pairs []string
	for _, own := range []string{annotations["io.kubernetes.cri.sandbox-uid"], annotations["io.kubernetes.cri.sandbox-id"], id} {
		if own != "" {
			pairs = append(pairs, own, "OWN")
		}
	}
	return pairs
}

// value is a part of a JSON document.
type value map[string]any

func (v value) part(name string) value {
	part, _ := v[name].(map[string]any)
	return part
}

func (v value) list(name string) []any {
	list, _ := v[name].([]any)
	return list
}

func (v value) text(name string) string {
	text, _ := v[name].(string)
	return text
}

// runsOf takes what says what would run. Not the container image: config.json has only the path of its files. Not the values of the
// environment: they may have the address of the Pod, and the processes of a memory image have those of before. The controller's own
// hash has what the spec says of both.
func runsOf(config value, names *strings.Replacer) map[string]any {
	process, linux := config.part("process"), config.part("linux")
	runs := map[string]any{
		"env":        variablesOf(process),
		"mounts":     mountsOf(config, names),
		"namespaces": typesOf(linux),
		"readonly":   config.part("root")["readonly"],
	}
	for _, name := range []string{"args", "cwd", "noNewPrivileges", "rlimits", "terminal", "user"} {
		runs[name] = process[name]
	}
	for _, name := range []string{"maskedPaths", "readonlyPaths", "seccomp", "sysctl"} {
		runs[name] = linux[name]
	}
	runs["resources"] = withoutPlacement(linux.part("resources"))
	capabilities := map[string][]string{}
	for kind := range process.part("capabilities") {
		capabilities[kind] = sortedTexts(process.part("capabilities").list(kind))
	}
	runs["capabilities"] = capabilities
	return runs
}

// withoutPlacement leaves out which processors and memory nodes the kubelet has chosen: it chooses anew for each Pod.
func withoutPlacement(resources value) value {
	kept := maps.Clone(resources)
	if cpu := maps.Clone(resources.part("cpu")); cpu != nil {
		delete(cpu, "cpus")
		delete(cpu, "mems")
		kept["cpu"] = cpu
	}
	return kept
}

// ofServices are the variables for the Services of the namespace, which come and go.
var ofServices = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$`)

func variablesOf(process value) []string {
	var found []string
	for _, variable := range sortedTexts(process.list("env")) {
		name, _, _ := strings.Cut(variable, "=")
		if !ofServices.MatchString(name) {
			found = append(found, name)
		}
	}
	return slices.Compact(found)
}

var (
	// tokenVolume is the volume for the token of a service account. The API server ends its name at random.
	tokenVolume = regexp.MustCompile(`/kube-api-access-[a-z0-9]{5}(/|$)`)
	// terminationLog ends at random too.
	terminationLog = regexp.MustCompile(`(/containers/[^/]+)/[0-9a-f]{8}$`)
)

func mountsOf(config value, names *strings.Replacer) []string {
	var found []string
	for _, each := range config.list("mounts") {
		object, _ := each.(map[string]any)
		mount := value(object)
		source := names.Replace(mount.text("source"))
		source = tokenVolume.ReplaceAllString(source, "/kube-api-access$1")
		source = terminationLog.ReplaceAllString(source, "$1")
		text, _ := json.Marshal([]any{mount["destination"], mount["type"], source, mount["options"]})
		found = append(found, string(text))
	}
	slices.Sort(found)
	return found
}

func typesOf(linux value) []string {
	var found []string
	for _, each := range linux.list("namespaces") {
		object, _ := each.(map[string]any)
		found = append(found, value(object).text("type"))
	}
	slices.Sort(found)
	return found
}

func sortedTexts(list []any) []string {
	found := make([]string, 0, len(list))
	for _, each := range list {
		if text, isText := each.(string); isText {
			found = append(found, text)
		}
	}
	slices.Sort(found)
	return found
}

// memoryMountAnnotation has the kernel's number of the mount with the files that are memory alone, as gVisor has the memory of a
// Pod in one. The node agent knows such a file by it: a tenant may give a file of a volume any name, but cannot put it on this mount.
const memoryMountAnnotation = "hibernation.rouse.dev/memory-mount"

// memoryMount has the kernel make such a file, and asks where it is. It is the same until the node is started again.
func memoryMount() (string, error) {
	number, err := unix.MemfdCreate("rouse", unix.MFD_CLOEXEC)
	if err != nil {
		return "", fmt.Errorf("memfd_create: %w", err)
	}
	defer unix.Close(number)
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", number))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if name, mount, _ := strings.Cut(line, ":"); name == "mnt_id" {
			return strings.TrimSpace(mount), nil
		}
	}
	return "", fmt.Errorf("the kernel does not tell the mount of an open file")
}
