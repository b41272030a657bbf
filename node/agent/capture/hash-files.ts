import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join } from "node:path";

const chunkBytes = 1_048_576;

/** The SHA-256 of what `sha256sum FILES` prints, in hexadecimal digits. */
export async function hashFiles(folder: string, names: readonly string[], signal: AbortSignal): Promise<string> {
  const all = createHash("sha256");
  for (const name of names) {
    const one = createHash("sha256");
    for await (const chunk of createReadStream(join(folder, name), { highWaterMark: chunkBytes, signal })) {
      one.update(chunk as Buffer);
    }
    all.update(`${one.digest("hex")}  ${name}\n`);
  }
  return all.digest("hex");
}
