import { describeTimeline, type WakeTimeline } from "../api/wake-timeline.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Clock } from "../lib/clock.ts";
import { DemonstrationFailed, putToSleep, visit } from "./demonstration.ts";
import { createExamples } from "./examples.ts";
import { type Addresses, describeNextSteps } from "./words.ts";

export interface TourWorld {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly say: (text: string) => void;
  readonly examplesDirectory: string;
  readonly addresses: Addresses;
  readonly activatorPort: number;
  /** Filled by the activator, one entry for each wake. */
  readonly wakes: readonly WakeTimeline[];
}

/**
 * The main job before a person's eyes: two sandboxes asleep, one request that wakes one of them, and what to try next.
 * A demonstration that fails is told, and everything stays up: whoever looks into it needs it running.
 */
export async function tour(world: TourWorld, examples: boolean, signal: AbortSignal): Promise<void> {
  const { say, addresses } = world;
  if (examples) await demonstrate(world, signal);
  say(`\n${describeNextSteps(addresses, examples)}\nCtrl-C ends everything.\n`);
}

async function demonstrate(world: TourWorld, signal: AbortSignal): Promise<void> {
  const { client, clock, say, addresses, activatorPort, wakes } = world;
  await createExamples(client, world.examplesDirectory, signal);
  try {
    await putToSleep(client, clock, signal);
    say(`\nTwo sandboxes are asleep: hello and notebook. One request goes to hello ...\n`);
    const answer = await visit(activatorPort, addresses.domain, signal);
    const wake = wakes.at(-1);
    say(`\n  "${answer}"\n\n${wake ? describeTimeline(wake) : ""}`);
  } catch (error) {
    if (signal.aborted) throw error;
    const why = error instanceof Error ? error.message : String(error);
    say(`\nThe demonstration failed: ${why}\n`);
    if (!(error instanceof DemonstrationFailed)) say("Everything else is up; the log may say more.\n");
  }
}
