import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checksums, checksumsFile, signatureFile } from "./checksums.ts";
import type { OciArchive } from "./images/oci-archive.ts";
import type { Release } from "./make-release.ts";

/**
 * Reads a release from the folder that it was made in, to publish it from there. Nothing of it is read before its signature and
 * its checksums are verified.
 *
 * @throws when a file is missing, was changed or is not of the release, when the key is another one, or when the release was
 * made without a tag or for another registry.
 */
export function readRelease(folder: string, { key, registry }: { key: KeyObject; registry: string }): Release {
  const sums = read(folder, checksumsFile);
  const signature = Buffer.from(read(folder, signatureFile), "base64");
  if (!verify("sha256", Buffer.from(sums), createPublicKey(key), signature))
    throw new Error(`${checksumsFile} in ${folder} was changed, or is signed with another key`);
  const differ = differences(sums, checksums(folder));
  if (differ.length > 0) throw new Error(`${folder} is not as it was signed: ${differ.join(", ")}`);
  const release = asRelease(JSON.parse(read(folder, "release.json")));
  if (!release) throw new Error(`release.json in ${folder} does not say what to publish`);
  if (release.tag === undefined)
    throw new Error(`the release in ${folder} was made without a tag: it is never published`);
  if (release.registry !== registry)
    throw new Error(`the release in ${folder} was made for the registry ${release.registry}, not for ${registry}`);
  return release;
}

function read(folder: string, file: string): string {
  const path = join(folder, file);
  if (!existsSync(path)) throw new Error(`there is no whole and signed release in ${folder}: it has no ${file}`);
  return readFileSync(path, "utf8");
}

/** The files whose lines are not in both. */
function differences(signed: string, found: string): readonly string[] {
  const [ofSigned, ofFound] = [linesOf(signed), linesOf(found)];
  const lines = [...ofSigned.difference(ofFound), ...ofFound.difference(ofSigned)];
  return [...new Set(lines.map((line) => line.slice(line.indexOf("  ") + 2)))];
}

const linesOf = (text: string) => new Set(text.split("\n").filter((line) => line !== ""));

function asRelease(value: unknown): Release | undefined {
  if (!isRecord(value)) return undefined;
  const { version, tag, commit, created, registry, oci } = value;
  if (!(isText(version) && isText(commit) && isText(created) && isText(registry))) return undefined;
  if (!(tag === undefined || isText(tag))) return undefined;
  if (!(Array.isArray(oci) && oci.length > 0 && oci.every(isArchive))) return undefined;
  return { version, tag, commit, created, registry, oci };
}

const isArchive = (value: unknown): value is OciArchive =>
  isRecord(value) && isText(value.file) && isText(value.name) && isText(value.digest);
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
