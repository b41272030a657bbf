import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempDisposableSync, openSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { openNode } from "../../../test/support/labs/full-node.ts";
import { Files } from "../doors/files.ts";

/** A disk that does not write what a capture has left in the page cache. Each try waits on a thread of this process, as fsync does. */
function openHangingDisk() {
  const folder = mkdtempDisposableSync(join(tmpdir(), "rouse-hanging-"));
  const pipe = join(folder.path, "pipe");
  execFileSync("mkfifo", [pipe]);
  const state = { waiting: 0, isDone: false };
  class HangingFiles extends Files {
    override async sync(path: string): Promise<void> {
      if (!state.isDone && path.includes(".part/")) {
        state.waiting += 1;
        await using _opened = await open(pipe, "r"); // until somebody opens it for writing
      }
      await super.sync(path);
    }
  }
  const close = { writer: () => {} };
  return {
    files: new HangingFiles(),
    state,
    /** The disk writes again: as long as somebody has the pipe open for writing, nobody waits. */
    recover() {
      state.isDone = true;
      const writer = openSync(pipe, constants.O_RDWR);
      close.writer = () => closeSync(writer);
    },
    [Symbol.dispose]() {
      close.writer();
      folder.remove();
    },
  };
}

it("a disk that does not write the files of many captures does not keep the agent from other Pods", async () => {
  const crowd = 6;
  const namespaces = [...Array.from({ length: crowd }, () => "crowd"), "alone"];
  using disk = openHangingDisk();
  await using node = await openNode(crowd + 1, crowd + 1, { namespaces, files: disk.files });
  const captures = Array.from({ length: crowd }, (_, index) => node.pass(index));
  await vi.waitFor(() => expect(node.lab.calls("checkpoint")).toBe(crowd), 10_000);
  await vi.waitFor(() => expect(disk.state.waiting).toBeGreaterThan(0), 10_000);
  const isLate = new Promise((resolve) => setTimeout(resolve, 3_000, "late"));
  const look = node.pass(crowd, false);
  const found = await Promise.race([look, isLate]);
  disk.recover();
  await Promise.all([look, ...captures]);
  expect(found).toEqual({ isCaptureDue: true });
});
