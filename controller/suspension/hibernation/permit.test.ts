import { createPrivateKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { anImage } from "../../../test/support/builders/memory-images.ts";
import vectors from "../../../test/support/builders/memory-permits.json" with { type: "json" };
import { permitBytes, permitFor, signPermit } from "./permit.ts";

/** The head of an Ed25519 key in PKCS #8 (RFC 8410). */
const head = "302e020100300506032b657004220420";

const keyOf = (seed: string) =>
  createPrivateKey({ key: Buffer.from(`${head}${seed}`, "hex"), format: "der", type: "pkcs8" });

describe("a permit to be restored", () => {
  it.each(vectors)("has the bytes and the signature that the shim expects: $permit.podName", (vector) => {
    expect(permitBytes(vector.permit).toString("hex")).toBe(vector.bytes);
    expect(signPermit(vector.permit, keyOf(vector.seed))).toBe(vector.signature);
  });

  it("names the Pod that the API server has named, and is not made for an image whose content is unknown", () => {
    const metadata = { name: "nova", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "" };
    const image = anImage({ status: { phase: "Captured", imageHash: "h", runscVersion: "v" } });
    expect(permitFor({ metadata }, image)).toMatchObject({ podUID: "u", podName: "nova", imageHash: "h" });
    expect(permitFor({ metadata }, anImage({ status: { phase: "Captured" } }))).toBeUndefined();
  });
});
