import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { checksums, checksumsFile, signatureFile } from "./checksums.ts";
import type { Release } from "./make-release.ts";
import { readRelease } from "./read-release.ts";
import { signText } from "./signature.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary-folder.ts";

const newKey = () => {
  const pem = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey.export({
    type: "pkcs8",
    format: "pem",
  });
  return createPrivateKey(pem);
};
const key = newKey();
const registry = "registry.example/rouse";
const release: Release = {
  version: "0.1.0",
  tag: "v0.1.0",
  commit: "abc",
  created: "now",
  registry,
  oci: [{ name: "activator", file: "images/activator.oci.tar", digest: "sha256:a" }],
};
let folder: TemporaryFolder;

beforeEach(() => {
  folder = temporaryFolder("read-release-test");
});
afterEach(() => folder[Symbol.dispose]());

const at = (file: string) => join(folder.path, file);

/** A signed release in the folder. */
function write(content: unknown): void {
  mkdirSync(at("images"));
  writeFileSync(at("images/activator.oci.tar"), "layers");
  writeFileSync(at("release.json"), JSON.stringify(content));
  const sums = checksums(folder.path);
  writeFileSync(at(checksumsFile), sums);
  writeFileSync(at(signatureFile), signText(sums, key));
}

const readWith = (options: Partial<Parameters<typeof readRelease>[1]> = {}) =>
  readRelease(folder.path, { key, registry, ...options });

it("a release is read from the folder that it was made and signed in", () => {
  write(release);
  expect(readWith()).toEqual(release);
});

it("a folder in which a file was changed, added or removed is not published, and the file is named", () => {
  write(release);
  appendFileSync(at("images/activator.oci.tar"), "more");
  expect(() => readWith()).toThrow("is not as it was signed: images/activator.oci.tar");
  writeFileSync(at("images/activator.oci.tar"), "layers");
  writeFileSync(at("images/more.tar"), "");
  expect(() => readWith()).toThrow("is not as it was signed: images/more.tar");
  rmSync(at("images"), { recursive: true });
  expect(() => readWith()).toThrow("is not as it was signed: images/activator.oci.tar");
});

it("changed checksums, and those that another key signed, are rejected", () => {
  write(release);
  expect(() => readWith({ key: newKey() })).toThrow("is signed with another key");
  appendFileSync(at("images/activator.oci.tar"), "more");
  writeFileSync(at(checksumsFile), checksums(folder.path));
  expect(() => readWith()).toThrow("SHA256SUMS");
});

it.each(["SHA256SUMS", "SHA256SUMS.sig"])("a folder without %s has no whole and signed release", (file) => {
  write(release);
  rmSync(at(file));
  expect(() => readWith()).toThrow(`it has no ${file}`);
});

it("a release that was made without a tag or for another registry is not published", () => {
  write({ ...release, tag: undefined });
  expect(() => readWith()).toThrow("was made without a tag");
  rmSync(at("images"), { recursive: true });
  write(release);
  expect(() => readWith({ registry: "registry.example/other" })).toThrow(
    `was made for the registry ${registry}, not for`,
  );
});

it.each([null, {}, { ...release, oci: [] }, { ...release, oci: [{ name: "activator" }] }, { ...release, tag: 1 }])(
  "a release.json of another form is rejected: %j",
  (content) => {
    write(content);
    expect(() => readWith()).toThrow("does not say what to publish");
  },
);
