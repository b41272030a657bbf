import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { identityOfProcess, isZombie } from "./process-identity.ts";

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

it.runIf(process.platform === "linux")(
  "tells a process that has ended, and that its parent does not reap",
  async () => {
    // The parent becomes another program, which knows of no children.
    const script = "sleep 600 & echo $!; exec sleep 600";
    const parent = spawn("sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"] });
    const [said] = await once(parent.stdout, "data");
    const pid = Number(said);
    try {
      // A shell that is still there would reap it.
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
      expect(isZombie(pid)).toBe(false);
      process.kill(pid, "SIGKILL");
      await expect.poll(() => isZombie(pid)).toBe(true);
      expect(identityOfProcess(pid)).toBeDefined();
    } finally {
      parent.kill("SIGKILL");
      await once(parent, "exit");
    }
    expect(isZombie(0)).toBe(false);
  },
);
