import { drainPaths, type ObservedAnswer, type PromiseAnswer } from "../../api/between-programs/drain-protocol.ts";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { systemClock } from "../../lib/time/clock.ts";
import type { ActivatorWorld } from "./labs/activator-world.ts";

const nova = { namespace: "default", name: "nova" };

type Asked = { readonly activator: Pick<ActivatorWorld["activator"], "drainPort"> } & {
  readonly api: Pick<ActivatorWorld["api"], "client">;
};

async function call<T>({ activator, api }: Asked, path: string, ahead: number): Promise<T> {
  const { metadata } = await api.client.get(sandboxType, nova);
  const { uid } = (await api.client.get(podType, nova)).metadata;
  const generation = (metadata.generation ?? 0) + ahead;
  const body = JSON.stringify({ sandbox: { ...nova, uid: metadata.uid }, podUid: uid, generation });
  const answer = await fetch(`http://127.0.0.1:${activator.drainPort}${path}`, { method: "POST", body });
  return (await answer.json()) as T;
}

/** The activator's answer to `observed` about the sandbox `nova`, for an intent `ahead` generations from now. */
export const observed = (world: Asked, ahead = 0): Promise<ObservedAnswer> => call(world, drainPaths.observed, ahead);

/** The activator's answer to `promise` for the Pod of `nova`. */
export const promised = (world: ActivatorWorld): Promise<PromiseAnswer> => call(world, drainPaths.promise, 0);

/** The earliest and latest time of the last use of `nova`, by this process's clock, because the call takes time. Undefined: no use. */
export async function lastUse(
  world: ActivatorWorld,
): Promise<{ readonly earliestMs: number; readonly latestMs: number } | undefined> {
  const askedMs = systemClock.ticksMs();
  const { idleForMs } = await observed(world);
  if (idleForMs === undefined) return undefined;
  return { earliestMs: askedMs - idleForMs, latestMs: systemClock.ticksMs() - idleForMs };
}
