import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { hasProc, processesWith } from "../../local/kubelet/process/proc.ts";
import { killProcess } from "../../local/kubelet/process/process.ts";
import { clientOf, LocalMode } from "../support/labs/local-mode.ts";
import { aScript, idle } from "../support/labs/local-node.ts";

afterEach(() => void vi.unstubAllEnvs());

/** Runs a Pod; resolves with a look for its processes. */
async function startPod(local: LocalMode): Promise<() => Promise<readonly number[]>> {
  await using client = clientOf(await local.start("--ephemeral", "--no-example"));
  const value = randomUUID();
  const spec = { containers: [aScript(idle, { env: [{ name: "ENTRY", value }] })] };
  await client.create(podType, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name: "nova" },
    spec,
  });
  const look = () => processesWith(`ENTRY=${value}`);
  await expect.poll(look, { timeout: 20_000 }).toHaveLength(1);
  return look;
}

// Without /proc nothing finds a process by its environment.
describe.runIf(hasProc)("an ephemeral run that is killed", () => {
  it("leaves nothing behind after the next start, which leaves other runs alone", async () => {
    await using parent = await mkdtempDisposable(join(tmpdir(), "rouse-ephemeral-"));
    vi.stubEnv("TMPDIR", parent.path);
    const folders = () => readdirSync(parent.path).filter((name) => /^rouse-[^-]+$/.test(name));
    await using killed = new LocalMode();
    await using other = new LocalMode();
    await using next = new LocalMode();
    const left = await startPod(killed);
    await using _ = { [Symbol.asyncDispose]: async () => (await left()).forEach(killProcess) };
    const [folder] = folders();
    await killed.end("SIGKILL");
    expect(await left()).toHaveLength(1);

    const ofOther = await startPod(other);
    expect(await left()).toEqual([]);
    await expect.poll(folders, { timeout: 20_000 }).not.toContain(folder);
    await next.start("--ephemeral", "--no-example");
    expect(await ofOther()).toHaveLength(1);
    expect(folders()).toHaveLength(2);
  }, 120_000);
});
