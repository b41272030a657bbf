import { createReadStream, createWriteStream, readdirSync, rmSync, utimesSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { byCodeUnits } from "../../lib/data/by-code-units.ts";
import type { Run } from "./command.ts";

export interface ArchiveOptions {
  /** The time of every entry, in seconds since 1970: SOURCE_DATE_EPOCH. */
  readonly epochSeconds: number;
  readonly run: Run;
}

/**
 * Writes what is in a folder to a tar file, by GNU tar. The bytes depend on names, contents, links and the executable bit alone:
 * not on owners, times, the umask, or the order in which the files were made (https://reproducible-builds.org/docs/archives/).
 */
export async function archiveFolder(folder: string, target: string, options: ArchiveOptions): Promise<void> {
  const { epochSeconds, run } = options;
  const names = readdirSync(folder).sort(byCodeUnits);
  await run("tar", [
    "--create",
    `--file=${target}`,
    `--directory=${folder}`,
    "--sort=name",
    "--format=posix",
    "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
    `--mtime=@${epochSeconds}`,
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=u=rwX,go=rX",
    "--hard-dereference",
    "--",
    ...names,
  ]);
  utimesSync(target, epochSeconds, epochSeconds);
}

/** The same, compressed. The header of gzip has neither a name nor a time, since Node's zlib writes none. */
export async function compressFolder(folder: string, target: string, options: ArchiveOptions): Promise<void> {
  const plain = `${target}.plain`;
  await archiveFolder(folder, plain, options);
  await pipeline(createReadStream(plain), createGzip({ level: 6 }), createWriteStream(target));
  rmSync(plain);
  utimesSync(target, options.epochSeconds, options.epochSeconds);
}
