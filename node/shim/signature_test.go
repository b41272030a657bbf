package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/containerd/api/runtime/task/v2"
)

// permitVectors are the same for the controller, which signs.
const permitVectors = "../../test/support/builders/memory-permits.json"

func TestThePermitsOfTheControllerHaveTheBytesAndSignaturesOfTheShim(t *testing.T) {
	text, err := os.ReadFile(permitVectors)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Seed, Bytes, Signature string
		Permit                 struct{ PodUID, Namespace, PodName, SandboxUID, Image, ImageHash, RunHash, RunscVersion string }
	}
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) == 0 {
		t.Fatal(err)
	}
	for _, v := range vectors {
		p := permit{podUID: v.Permit.PodUID, namespace: v.Permit.Namespace, pod: v.Permit.PodName, sandboxUID: v.Permit.SandboxUID,
			image: v.Permit.Image, imageHash: v.Permit.ImageHash, runHash: v.Permit.RunHash, runsc: v.Permit.RunscVersion}
		if got := hex.EncodeToString(p.bytes()); got != v.Bytes {
			t.Errorf("the bytes are %s, and not %s", got, v.Bytes)
		}
		seed, _ := hex.DecodeString(v.Seed)
		if got := base64.StdEncoding.EncodeToString(ed25519.Sign(ed25519.NewKeyFromSeed(seed), p.bytes())); got != v.Signature {
			t.Errorf("the signature is %s, and not %s", got, v.Signature)
		}
	}
}

func TestAPodWithoutAValidSignatureStartsAnewAndDoesNotUseUpTheImage(t *testing.T) {
	other := ed25519.NewKeyFromSeed([]byte(strings.Repeat("o", ed25519.SeedSize)))
	set := func(change func(p *permit)) func(n node) string {
		return func(n node) string {
			p := n.permit("s1")
			change(&p)
			return n.sign(p)
		}
	}
	forged := map[string]func(n node) string{
		"none":               func(node) string { return "" },
		"no base64":          func(node) string { return "?" },
		"another key":        func(n node) string { n.key = other; return n.sign(n.permit("s1")) },
		"another Pod":        set(func(p *permit) { p.podUID = "uid-s9" }),
		"another namespace":  set(func(p *permit) { p.namespace = "desk" }),
		"another name":       set(func(p *permit) { p.pod = "db" }),
		"another sandbox":    set(func(p *permit) { p.sandboxUID = "uid-of-db" }),
		"another image":      set(func(p *permit) { p.image = "g2" }),
		"another image hash": set(func(p *permit) { p.imageHash = strings.Repeat("0", 64) }),
		"another run hash":   set(func(p *permit) { p.runHash = "i" }),
		"another runsc":      set(func(p *permit) { p.runsc = "2026.2" }),
	}
	for what, signature := range forged {
		n := newNode(t)
		for _, name := range []string{"", "app"} {
			calls, err := n.run(&gvisor{}, n.signed(n.request("s1", name, "g1"), signature(n)))
			if want := []string{"create", "start"}; err != nil || !slices.Equal(calls, want) {
				t.Errorf("%s: gVisor got %q, %v", what, calls, err)
			}
		}
		if got := n.refused(); got.Pod != "uid-s1" || (got.Reason != "WrongSignature" && got.Reason != "NotSigned") {
			t.Errorf("%s: the refusal says %v", what, got)
		}
		n.wants(what+": the Pod of the controller", n.request("s2", "", "g1"), "create", "restore g1")
	}
}

func TestASignatureForAnImageThatWasDescribedAnewIsNotValid(t *testing.T) {
	n := newNode(t)
	request := n.request("s1", "", "g1")
	text, _ := os.ReadFile(filepath.Join(n.image, "image.json"))
	n.write("images/shop/web/g1/image.json", string(text)+" ", 0o600)
	n.wants("the container", request, "create", "start")
	if got := n.refused(); got.Reason != "WrongSignature" {
		t.Errorf("the refusal says %v", got)
	}
}

func TestAnImageThatCannotBeReadIsNotUsedUp(t *testing.T) {
	spoiled := map[string]func(n node){
		"no such file":   func(n node) { os.RemoveAll(n.image) },
		"unexpected end": func(n node) { n.write("images/shop/web/g1/image.json", "{", 0o600) },
		"too many levels of symbolic links": func(n node) {
			path := filepath.Join(n.image, "image.json")
			os.Rename(path, filepath.Join(n.folder, "elsewhere.json"))
			os.Symlink(filepath.Join(n.folder, "elsewhere.json"), path)
		},
	}
	for want, spoil := range spoiled {
		n := newNode(t)
		request := n.request("s1", "", "g1")
		spoil(n)
		n.wants(want, request, "create", "start")
		if got := n.refused(); got.Reason != "ImageMissing" || !strings.Contains(got.Message, want) {
			t.Errorf("%s: the refusal says %v", want, got)
		}
		if n.isMarked("") {
			t.Errorf("%s: the image counts as used", want)
		}
	}
}

func TestANodeWithoutAPublicKeyRestoresNothingAndSaysSo(t *testing.T) {
	for _, text := range []string{"", "no key\n"} {
		n := newNode(t)
		request := n.request("s1", "", "g1")
		n.write("ed25519.pub", text, 0o600)
		if text == "" {
			os.Remove(publicKeysFile)
		}
		n.wants("the container", request, "create", "start")
		if got := n.refused(); got.Reason != "NoPublicKey" {
			t.Errorf("the refusal says %v", got)
		}
	}
}

func TestASignatureOfAnyKeyOfTheNodeIsValid(t *testing.T) {
	n := newNode(t)
	first, _ := os.ReadFile(publicKeysFile)
	next, _, _ := ed25519.GenerateKey(nil)
	n.write("ed25519.pub", "# two keys\n"+base64.StdEncoding.EncodeToString(next)+"\n"+string(first), 0o600)
	n.wants("the container", n.request("s1", "", "g1"), "create", "restore g1")
}

// signed has the bundle of a container ask with this signature.
func (n node) signed(request *task.CreateTaskRequest, signature string) *task.CreateTaskRequest {
	n.Helper()
	path := filepath.Join(request.Bundle, "config.json")
	var config map[string]any
	text, _ := os.ReadFile(path)
	if err := json.Unmarshal(text, &config); err != nil {
		n.Fatal(err)
	}
	config["annotations"].(map[string]any)[signatureAnnotation] = signature
	text, _ = json.Marshal(config)
	os.WriteFile(path, text, 0o600)
	return request
}

func TestAPodWithoutAValidSignatureIsToldSoAlsoIfTheImageWasUsed(t *testing.T) {
	n := newNode(t)
	n.wants("the Pod of the controller", n.request("s1", "", "g1"), "create", "restore g1")
	n.wants("the next sandbox of that Pod", n.samePod("s1", n.request("s2", "", "g1")), "create", "start")
	if got := n.refused(); got.Reason != "" {
		t.Errorf("a Pod that was restored is refused: %v", got)
	}
	for signature, want := range map[string]string{"": "NotSigned", n.sign(n.permit("s1")): "WrongSignature", n.sign(n.permit("s3")): "AlreadyUsed"} {
		n.forget()
		n.wants(want, n.signed(n.request("s3", "", "g1"), signature), "create", "start")
		if got := n.refused(); got.Pod != "uid-s3" || got.Reason != want {
			t.Errorf("the refusal says %v, and not %s", got, want)
		}
	}
	if got, _ := n.outcome(""); got != "restored" {
		t.Errorf("the mark says %q", got)
	}
}

func TestTheNextSandboxOfAPodThatWasRefusedStartsAnewAlsoIfNothingIsWrongThen(t *testing.T) {
	n := newNode(t)
	keys, _ := os.ReadFile(publicKeysFile)
	n.write("ed25519.pub", "", 0o600)
	n.wants("without a key", n.request("s1", "", "g1"), "create", "start")
	n.write("ed25519.pub", string(keys), 0o600)
	for _, name := range []string{"", "app"} {
		n.wants("the next sandbox", n.samePod("s1", n.request("s2", name, "g1")), "create", "start")
	}
	if got := n.refused(); got.Pod != "uid-s1" || got.Reason != "NoPublicKey" || n.isMarked("") {
		t.Errorf("the refusal says %v", got)
	}
	n.wants("another Pod", n.request("s3", "", "g1"), "create", "restore g1")
}

// samePod has a container be one of the Pod of another sandbox, with the signature of that Pod.
func (n node) samePod(sandbox string, request *task.CreateTaskRequest) *task.CreateTaskRequest {
	n.Helper()
	n.edit(request, `"uid-`+request.ID[:2]+`"`, `"uid-`+sandbox+`"`)
	return n.signed(request, n.sign(n.permit(sandbox)))
}

func (n node) forget() { os.Remove(n.image + ".refused") }
