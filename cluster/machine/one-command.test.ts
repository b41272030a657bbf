import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ClusterBusy, lockMachine } from "./one-command.ts";

const root = join(import.meta.dirname, "..", "..");

describe.runIf(process.platform === "linux")("commands of one machine's cluster", () => {
  it("run one at a time", async () => {
    const name = `\0rouse-cluster-test-${process.pid}`;
    {
      await using _first = await lockMachine(name);
      await expect(lockMachine(name)).rejects.toThrow(ClusterBusy);
    }
    await using _next = await lockMachine(name);
  });

  it("end with the reason while another one is at work", async () => {
    await using _other = await lockMachine().catch(() => undefined); // or a cluster really starts on this machine now
    const down = promisify(execFile)(process.execPath, [
      join(root, "cluster", "main.ts"),
      "down",
      "--dir=/nowhere/rouse",
    ]);
    await expect(down).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("another `npm run cluster`") });
  });
});
