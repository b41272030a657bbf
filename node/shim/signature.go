package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// signatureAnnotation has the controller's permission for one Pod to be restored from one image, in base64.
const signatureAnnotation = "hibernation.rouse.dev/signature"

// publicKeysFile has the keys whose signatures count, each in base64 on a line of its own. The node agent keeps it.
var publicKeysFile = "/var/lib/rouse/ed25519.pub"

// permitVersion begins what is signed, so that no signature for anything else fits.
const permitVersion = "rouse memory 1"

// permit is what the controller signs: this Pod, which the API server has named by a UID, may go on from this image.
type permit struct {
	podUID, namespace, pod, sandboxUID, image, imageHash, runHash, runsc string
}

// bytes has each field with its length before it, so no two permits have the same.
func (p permit) bytes() []byte {
	var all []byte
	for _, field := range []string{permitVersion, p.podUID, p.namespace, p.pod, p.sandboxUID, p.image, p.imageHash, p.runHash, p.runsc} {
		all = binary.BigEndian.AppendUint32(all, uint32(len(field)))
		all = append(all, field...)
	}
	return all
}

// refusal is a file beside an image: a Pod asked for it without the right to. It is no use of the image. It counts for as long
// as that Pod lives: the Pod runs anew, so a later sandbox of it does not go on from memory that is older.
type refusal struct {
	// Pod is its UID.
	Pod     string `json:"pod"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (r refusal) Error() string { return r.Message }

// write replaces the refusal of an earlier Pod.
func (r refusal) write(image string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(image), 0o700); err != nil {
		return err
	}
	err = replaceFile(image+".refused", text)
	if err == nil {
		os.Remove(troubleElsewhere(image))
	}
	return err
}

// readRefusal returns the refusal beside an image. It is empty if there is none, or one that cannot be parsed. An error says
// that it cannot be read now.
func readRefusal(image string) (found refusal, err error) {
	text, err := os.ReadFile(image + ".refused")
	if err != nil {
		if isUnknown(err) {
			return found, err
		}
		return found, nil
	}
	if json.Unmarshal(text, &found) != nil {
		return refusal{}, nil
	}
	return found, nil
}

// verify returns a refusal if no key of this node has signed the permit. An error says that the keys cannot be read now.
func (p permit) verify(signature string) (*refusal, error) {
	refused := func(reason, message string) (*refusal, error) {
		return &refusal{Pod: p.podUID, Reason: reason, Message: message}, nil
	}
	if signature == "" {
		return refused("NotSigned", "the Pod has no signature of the controller")
	}
	text, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return refused("WrongSignature", "the signature of the Pod is not base64")
	}
	keys, err := publicKeys()
	if isUnknown(err) {
		return nil, err
	}
	if err != nil {
		return refused("NoPublicKey", fmt.Sprintf("the node has no public key of the controller: %v", err))
	}
	for _, key := range keys {
		if ed25519.Verify(key, p.bytes(), text) {
			return nil, nil
		}
	}
	return refused("WrongSignature", "the signature is not of this controller, or not for this Pod and this memory image")
}

var errNoKey = errors.New("the file has no key")

func publicKeys() ([]ed25519.PublicKey, error) {
	file, err := os.ReadFile(publicKeysFile)
	if err != nil {
		return nil, err
	}
	var keys []ed25519.PublicKey
	for line := range strings.Lines(string(file)) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		if err == nil && len(key) == ed25519.PublicKeySize {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errNoKey
	}
	return keys, nil
}
