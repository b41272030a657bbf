import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";

const chunkBytes = 1_048_576;

/** The SHA-256 of each file, in hexadecimal digits. */
export async function hashFiles(
  folder: string,
  names: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const hashes = new Map<string, string>();
  for (const name of names) {
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(join(folder, name), { highWaterMark: chunkBytes, signal })) {
      hash.update(chunk as Buffer);
    }
    hashes.set(name, hash.digest("hex"));
  }
  return hashes;
}
