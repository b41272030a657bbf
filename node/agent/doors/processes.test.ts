import { mkdirSync, mkdtempDisposableSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Processes } from "./processes.ts";

const mebibyte = 1_048_576;

/** A folder like /proc with the process 7, which has these files open. */
function procWith(files: Readonly<Record<string, number>>) {
  const folder = mkdtempDisposableSync(join(tmpdir(), "rouse-proc-"));
  mkdirSync(join(folder.path, "7", "fd"), { recursive: true });
  writeFileSync(join(folder.path, "7", "status"), "VmRSS:\t   3000 kB\nRssShmem:\t  1000 kB\nVmSwap:\t    24 kB\n");
  Object.entries(files).forEach(([name, bytes], index) => {
    writeFileSync(join(folder.path, name), Buffer.alloc(bytes, "x"));
    for (const fd of [2 * index, 2 * index + 1])
      symlinkSync(join(folder.path, name), join(folder.path, "7", "fd", `${fd}`));
  });
  symlinkSync(join(folder.path, "gone"), join(folder.path, "7", "fd", "99"));
  return { processes: new Processes(folder.path), [Symbol.dispose]: () => folder.remove() };
}

describe("the memory of a sentry", () => {
  it("contains the files of the Pod's memory, once each, and not what else is open", () => {
    using proc = procWith({
      "memfd:runsc-memory (deleted)": 8 * mebibyte,
      ".gvisor.filestore.abc": 2 * mebibyte,
      log: mebibyte,
    });
    const own = 2_024 * 1_024;
    expect(proc.processes.sentryBytesOf(7)).toBeGreaterThanOrEqual(10 * mebibyte + own);
    expect(proc.processes.sentryBytesOf(7)).toBeLessThan(10.5 * mebibyte + own);
  });

  it("is unknown if its files cannot be seen", () => {
    using proc = procWith({});
    expect(proc.processes.sentryBytesOf(8)).toBeUndefined();
  });
});
