import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../lib/log/log.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { hasProc, processesWith } from "../process/proc.ts";
import { killProcess } from "../process/process.ts";
import { ProcessRecords } from "../process/process-records.ts";

const urlOf = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

/** A runtime that starts one container and gets SIGKILL after the process exists and before its pid is on disk. */
const dyingRuntime = `
  import { ContainerRun } from ${urlOf("./container-run.ts")};
  import { ProcessRecords } from ${urlOf("../process/process-records.ts")};
  import { systemClock } from ${urlOf("../../../lib/time/clock.ts")};
  const [directory, podUid, entry] = process.argv.slice(1);
  const records = await ProcessRecords.open(directory);
  records.add = () => process.kill(process.pid, "SIGKILL");
  const argv = ["sleep", "600"];
  const launch = { program: "/bin/sleep", argv, environment: { ENTRY: entry }, workingDirectory: directory };
  const container = { name: "main" };
  await ContainerRun.start({ records, clock: systemClock }, { podUid, podIp: "127.0.0.1", container, launch, restartCount: 0 });`;

// Without /proc nothing finds a process without its pid.
describe.runIf(hasProc)("a runtime that is killed while a container starts", () => {
  it("leaves no process that the next runtime does not end", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "rouse-run-"));
    const entry = randomUUID();
    await using _ = {
      [Symbol.asyncDispose]: async () => (await processesWith(`ENTRY=${entry}`)).forEach(killProcess),
    };
    const script = ["--input-type=module", "--eval", dyingRuntime, folder.path, randomUUID(), entry];
    const runtime = spawn(process.execPath, script, { stdio: ["ignore", "ignore", "inherit"] });
    expect(await once(runtime, "exit")).toEqual([null, "SIGKILL"]);
    await expect.poll(() => processesWith(`ENTRY=${entry}`)).toHaveLength(1);

    const next = await ProcessRecords.open(folder.path);
    expect(await next.killStrays(systemClock, silentLogger)).toBe(1);
    expect(await processesWith(`ENTRY=${entry}`)).toEqual([]);
    expect(readdirSync(folder.path)).toEqual([]);
  });
});
