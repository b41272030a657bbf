import { describeTimeline, type WakeTimeline } from "../api/between-programs/wake-timeline.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Clock } from "../lib/time/clock.ts";
import { DemonstrationFailed, putToSleep, visit } from "./demonstration.ts";
import { createExamples, missingPrograms } from "./examples.ts";
import { type Addresses, describeMissingProgram, describeNextSteps } from "./messages.ts";

export interface DemoDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly say: (text: string) => void;
  readonly examplesDirectory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly addresses: Addresses;
  readonly activatorPort: number;
  /** The last wake that the activator has told of. */
  readonly lastWake: () => WakeTimeline | undefined;
}

/**
 * The demonstration: two suspended sandboxes, one request that wakes one of them, and the next commands to try. A
 * failure is reported, and everything keeps running so that it can be investigated.
 */
export async function demo(dependencies: DemoDependencies, examples: boolean, signal: AbortSignal): Promise<void> {
  const { say, addresses } = dependencies;
  if (examples) await demonstrate(dependencies, signal);
  say(`\n${describeNextSteps(addresses, examples)}\nCtrl-C ends everything.\n`);
}

async function demonstrate(dependencies: DemoDependencies, signal: AbortSignal): Promise<void> {
  const { client, clock, say, addresses, activatorPort, lastWake } = dependencies;
  try {
    // A full quota or disk refuses them. Everything must keep running then, so that its user can delete something.
    await createExamples(client, dependencies.examplesDirectory, signal);
    await putToSleep(client, clock, signal);
    say(`\nTwo sandboxes are suspended: hello and notebook. Sending one request to hello ...\n`);
    for (const missing of missingPrograms(dependencies.examplesDirectory, dependencies.environment["PATH"] ?? "")) {
      say(`${describeMissingProgram(missing)}\n`);
    }
    const answer = await visit(activatorPort, addresses.domain, signal);
    const wake = lastWake();
    say(`\n  "${answer}"\n\n${wake ? describeTimeline(wake) : ""}`);
  } catch (error) {
    if (signal.aborted) throw error;
    const why = error instanceof Error ? error.message : String(error);
    say(`\nThe demonstration failed: ${why}\n`);
    if (!(error instanceof DemonstrationFailed)) say("Everything else is running; the log may have the cause.\n");
  }
}
