import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { identityOfProcess } from "./process-identity.ts";

it.runIf(process.platform === "linux")(
  "distinguishes a living process from every other, and does not identify a dead one",
  async () => {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    const pid = child.pid ?? 0;
    const identity = identityOfProcess(pid);
    expect(identity).toMatch(new RegExp(`^${pid} \\d+$`));
    expect(identityOfProcess(pid)).toBe(identity);
    expect(identityOfProcess(process.pid)).not.toBe(identity);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(identityOfProcess(pid)).toBeUndefined();
  },
);
