import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { checksums, checksumsFile, signatureFile } from "./checksums.ts";
import { createRun } from "./command.ts";
import { readSigningKey, signText } from "./signature.ts";

const run = createRun({ PATH: "/usr/local/bin:/usr/bin:/bin" });
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "checksums-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

it("the checksums name each file but themselves, in order, and sha256sum accepts them", async () => {
  mkdirSync(join(folder, "images"));
  for (const name of ["release.json", "images/b.tar", "images/a.tar", checksumsFile, signatureFile]) write(name, name);
  const sums = checksums(folder);
  expect(sums.split("\n").map((line) => line.slice(66))).toEqual(["images/a.tar", "images/b.tar", "release.json", ""]);
  write(checksumsFile, sums);
  expect(await run("sha256sum", ["--check", checksumsFile], { directory: folder })).toContain("release.json: OK");
  write("release.json", "another");
  await expect(run("sha256sum", ["--check", checksumsFile], { directory: folder })).rejects.toThrow("did NOT match");
});

it("the checksums name files that begin with a dot, and a link is rejected", () => {
  mkdirSync(join(folder, ".hidden"));
  for (const name of [".a", ".hidden/b"]) write(name, name);
  expect(checksums(folder)).toMatch(/ {2}\.a\n.* {2}\.hidden\/b\n$/);
  symlinkSync("nowhere", join(folder, "link"));
  expect(() => checksums(folder)).toThrow("link in ");
});

it("openssl verifies a signature by a key that was handed in", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  write("key.pem", privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  write("key.pub", publicKey.export({ type: "spki", format: "pem" }).toString());
  write(checksumsFile, "sums");
  const signature = signText("sums", readSigningKey(join(folder, "key.pem")));
  writeFileSync(join(folder, "signature"), Buffer.from(signature, "base64"));
  const verify = ["dgst", "-sha256", "-verify", "key.pub", "-signature", "signature", checksumsFile];
  expect(await run("openssl", verify, { directory: folder })).toContain("Verified OK");
  write(checksumsFile, "other sums");
  await expect(run("openssl", verify, { directory: folder })).rejects.toThrow();
});

it("a key that cannot sign a release is rejected with the reason", () => {
  const { privateKey } = generateKeyPairSync("ed25519");
  write("ed25519.pem", privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  write(
    "encrypted.pem",
    privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }).toString(),
  );
  write("text.pem", "no key");
  expect(() => readSigningKey(join(folder, "ed25519.pem"))).toThrow("is not an ECDSA key on the curve P-256");
  expect(() => readSigningKey(join(folder, "encrypted.pem"))).toThrow("is encrypted: give one without a passphrase");
  expect(() => readSigningKey(join(folder, "text.pem"))).toThrow("has no private key in PEM");
});
