import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { daemonEnvironments } from "../../../test/support/labs/daemon-environments.ts";
import { readProcess } from "./proc.ts";
import { killProcess } from "./process.ts";

const at = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);

/** A program that starts a container whose processes ignore SIGTERM, prints their pids, and exits when it is told to. */
const program = `
  import { Containment } from ${at("./containment.ts")};
  import { startProcess } from ${at("./process.ts")};
  const containment = Containment.plan();
  containment.open();
  const script = "trap '' TERM; setsid sleep 600 & echo $! $$; wait; sleep 600";
  const launch = { program: "/bin/sh", argv: ["sh", "-c", script], environment: process.env, workingDirectory: "/" };
  const { stdout } = await startProcess(containment.enclose(launch));
  stdout.pipe(process.stdout);
  process.stdin.once("data", () => process.exit(1));
`;

const lives = async (pid: number) => {
  const facts = await readProcess(pid);
  return facts !== undefined && !facts.zombie;
};

it.runIf(process.platform === "linux")("containers end with the process that exits at once", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  const [daemon = 0, head = 0] = (value ?? "").split(" ").map(Number);
  try {
    expect(await Promise.all([daemon, head].map(lives))).toEqual([true, true]);
    child.stdin.end("exit");
    await expect.poll(() => lives(head)).toBe(false);
    // Without a cgroup, nothing but the next run of local mode finds a daemon.
    if (daemonEnvironments().includes("cleared")) await expect.poll(() => lives(daemon)).toBe(false);
  } finally {
    for (const pid of [daemon, head]) killProcess(pid);
    child.kill("SIGKILL");
  }
});
