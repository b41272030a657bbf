import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { FileFacts } from "../store/image-store.ts";

const chunkBytes = 1_048_576;

/** The facts of each file, by its name. */
export async function hashFiles(
  folder: string,
  names: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, FileFacts>> {
  const facts = new Map<string, FileFacts>();
  for (const name of names) {
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const chunk of createReadStream(join(folder, name), { highWaterMark: chunkBytes, signal })) {
      hash.update(chunk as Buffer);
      bytes += chunk.length;
    }
    facts.set(name, { bytes, sha256: hash.digest("hex") });
  }
  return facts;
}
