import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { DataDirInUse, lockDataDir } from "../../../apiserver/storage/data-dir-lock.ts";
import { bringUp } from "../../../cluster/bring-up.ts";
import type { BuiltPrograms } from "../../../cluster/components.ts";
import { parseClusterConfig } from "../../../cluster/config.ts";
import { waitUntil } from "../../../cluster/wait.ts";
import { stayAlive } from "../../../lib/process/stay-alive.ts";
import { systemClock } from "../../../lib/time/clock.ts";
import { defaultCacheDirectory, findOrBuild } from "../../../scripts/tools/build-tool.ts";
import { keepLogs } from "./keep-logs.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The path of the administrator's kubeconfig. */
    readonly kubeconfig: string;
    /** The paths of the programs. */
    readonly kubectl: string;
    readonly helm: string;
    readonly programs: BuiltPrograms;
    /** The ecosystem's own controller, of a release that stored `v1alpha1`. */
    readonly existingController: string;
  }
}

// Longer than one run takes on a busy machine.
const turnLimitMs = 2_400_000;

export const setup = (project: TestProject) => bringClusterUp(project, []);

/**
 * Starts the cluster with our chart if it does not run. It keeps running, so that the next run starts at once.
 * A machine has one cluster, and the tests stop and start parts of it, so a second run waits for the first.
 */
export async function bringClusterUp(project: TestProject, flags: readonly string[]): Promise<() => void> {
  const config = parseClusterConfig(["up", ...flags], process.env);
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const turn = await takeTurn(say);
  try {
    const cacheDirectory = defaultCacheDirectory(process.env);
    const builder = { cacheDirectory, environment: process.env, say };
    const { layout, programs } = await bringUp(config, builder, systemClock);
    const existingController = await findOrBuild("agent-sandbox-0.4", builder);
    if (existingController === undefined) throw new Error("there is no Go here to build the existing controller with");
    project.provide("kubeconfig", layout.kubeconfig("admin"));
    project.provide("kubectl", programs.kubectl);
    project.provide("helm", programs.helm);
    project.provide("programs", programs);
    project.provide("existingController", existingController);
    const logs = keepLogs(layout);
    return () => {
      logs[Symbol.dispose]();
      turn[Symbol.dispose]();
    };
  } catch (error) {
    turn[Symbol.dispose]();
    throw error;
  }
}

async function takeTurn(say: (line: string) => void): Promise<Disposable> {
  const folder = join(tmpdir(), "rouse-kubernetes-tests");
  mkdirSync(folder, { recursive: true });
  using _alive = stayAlive();
  let turn: Disposable | undefined;
  const isOurs = () => {
    turn = tryLock(folder);
    return turn !== undefined;
  };
  if (!isOurs()) say("another run has the cluster; waiting for it to end ...");
  const complaint = () => `another run has kept the cluster for ${turnLimitMs / 60_000} minutes`;
  if (!turn) await waitUntil(isOurs, { clock: systemClock, limitMs: turnLimitMs, complaint });
  if (!turn) throw new Error(complaint());
  return turn;
}

function tryLock(folder: string): Disposable | undefined {
  try {
    return lockDataDir(folder);
  } catch (error) {
    if (error instanceof DataDirInUse) return undefined;
    throw error;
  }
}
