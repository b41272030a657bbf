import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const program = fileURLToPath(new URL("./without-descriptors.ts", import.meta.url));

it.each([0, 3])(
  "a process that cannot be started with %i file descriptors fails its own work, and for a while",
  async (left) => {
    const command = ["-c", 'ulimit -n 80; exec "$@"', "sh", process.execPath, program, String(left)];
    const { stdout } = await promisify(execFile)("sh", command);
    const notStarted = expect.stringMatching(
      /^ReviewNotConverted: no conversion process could be started: .*EMFILE; try again$/,
    );
    expect(JSON.parse(stdout)).toEqual({
      runsc: expect.stringMatching(/^RunscFailed: runsc --version: .*EMFILE$/),
      without: notStarted,
      atOnceAfter: notStarted,
      with: "answered",
    });
  },
  30_000,
);
