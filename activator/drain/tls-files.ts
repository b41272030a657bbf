import { readFile } from "node:fs/promises";
import type { DrainTls } from "./drain-server.ts";

/** Where the certificates of the drain port are, as a mounted Secret has them. */
export interface DrainTlsFiles {
  readonly certificate: string;
  readonly key: string;
  readonly clientAuthority: string;
}

/** Reads the files as they are now: whoever mounts a Secret replaces them when it is renewed. */
export function readTlsFrom(files: DrainTlsFiles): () => Promise<DrainTls> {
  return async () => {
    const [certificate, key, clientAuthority] = await Promise.all([
      readFile(files.certificate, "utf8"),
      readFile(files.key, "utf8"),
      readFile(files.clientAuthority, "utf8"),
    ]);
    return { certificate, key, clientAuthority };
  };
}
