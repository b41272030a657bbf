import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
/** With the fault, the process takes more and more memory until it is killed. */
const limit = { timeout: 20_000, killSignal: "SIGKILL" } as const;

it("the process goes on when a stream is cut while its connection is being closed", async () => {
  const { stdout } = await run(process.execPath, ["--no-warnings", "test/programs/cut-streams.ts"], limit);
  expect(stdout).toBe("alive\n");
});
