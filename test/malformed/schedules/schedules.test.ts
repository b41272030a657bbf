import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
const limit = { timeout: 110_000, killSignal: "SIGKILL" } as const;

// A process of its own, because Node may loop in native code for ever. If it fails, it prints its last operations.
// A failure names its seed: `npx node test/programs/http2-schedules.ts SEED 1` runs it again. Most seeds of TLS find a stream that is cut
// before its reset.
it("random schedules of clients and sandboxes leave nothing of HTTP/2 behind", { timeout: 120_000 }, async () => {
  const args = ["--no-warnings", "test/programs/http2-schedules.ts", "1", "5", "40"];
  const { stdout } = await run(process.execPath, args, limit);
  expect(stdout).toBe("5 batches of 40 schedules\n");
});
