import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** Node reads at most 2 GiB at a time. */
const pieceBytesMax = 1024 ** 3;

/** The content of a file of any size; undefined if there is none. */
export function readWhole(path: string, pieceBytes: number = pieceBytesMax): Buffer | undefined {
  const file = openIfThere(path);
  if (file === undefined) return undefined;
  try {
    const bytes = Buffer.allocUnsafeSlow(fstatSync(file).size);
    let length = 0;
    for (;;) {
      const read = readSync(file, bytes, length, Math.min(bytes.length - length, pieceBytes), length);
      length += read;
      if (read === 0 || length === bytes.length) return bytes.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
