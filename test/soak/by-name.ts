import { type Conversation, converse, type Heard } from "../sleep/conversation.ts";
import { endCounts } from "../sleep/end-counts.ts";
import { rawPort } from "../sleep/raw-workload.ts";
import type { TestBed } from "../sleep/test-bed.ts";
import { eventually } from "../support/eventually.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Findings } from "./findings.ts";
import type { Names } from "./names.ts";
import type { SoakSandbox } from "./sandboxes.ts";

export interface ByNameOptions {
  readonly bed: TestBed;
  readonly names: Names;
  readonly random: SeededRandom;
  readonly findings: Findings;
}

/** The longest time until a new leader has asked the activators. */
const unreachableMs = 120_000;
const longestText = 64 * 1024;
/** A new process may take this long to open the ports on which the former one listened. */
const settlingMs = 15_000;
/** From a manual suspension until the connections to that Pod have ended, even if faults come in between. */
const pauseLastsMs = 120_000;

/** One raw connection by Service name; all received data is checked. */
export async function talkByName(id: string, soakSandbox: SoakSandbox, options: ByNameOptions): Promise<void> {
  const { bed, names, random, findings } = options;
  const { name } = soakSandbox;
  let route = names.route(name, rawPort, random);
  if (!route) {
    // The only activator that was known to listen has just restarted, and the others have not answered yet.
    findings.count("Services that led nowhere for a moment");
    await eventually(() => names.route(name, rawPort, random), unreachableMs).catch(() => {});
    route = names.route(name, rawPort, random);
  }
  if (!route) return findings.complain(`the Service of ${name} leads nowhere for ${unreachableMs} ms`);
  const by = bed.activators.find(({ host }) => host === route.host);
  const deaths = by?.deaths ?? 0;
  const isNew = !by?.ready || performance.now() - by.readySinceMs < settlingMs;
  const beganMs = performance.now();
  const heard = await converse({ ...route, id, texts: someTexts(id, random) });
  const executions = bed.node.ledger.of(id);
  bed.node.ledger.forget(id);
  if (executions.length > 1) findings.complain(`${id} was executed ${executions.length} times`);
  // A listed activator that has exited is about to be removed from the EndpointSlices.
  const isDead = !by || by.deaths !== deaths;
  if ((isDead && heard.how !== "wrong") || (isNew && heard.how === "refused")) {
    return findings.count("raw connections by a replica that was killed");
  }
  const why = complaint(soakSandbox, heard, executions);
  if (why === undefined) return findings.count(`raw connections: ${heard.how}`);
  const { bytes, saidBytes, quietMs } = heard;
  const tookMs = performance.now() - beganMs;
  const facts = `${bytes} of ${saidBytes} bytes, quiet for ${quietMs.toFixed(0)} ms, after ${tookMs.toFixed(0)} ms, executed: ${executions.length}`;
  const ends = by && (await endCounts(by).catch(String));
  findings.complain(
    `${id} by the Service of ${name} (${soakSandbox.kind}) through ${by?.name ?? "a deleted activator"}: ${why} (${facts})\n${ends}`,
  );
}

/** Half of the clients send everything at once. The others pause in between, some for longer than the idle time. */
function someTexts(id: string, random: SeededRandom): Conversation["texts"] {
  const text = () => `${id} `.repeat(1 + random.below(longestText / (id.length + 1)));
  if (random.below(2) === 0) return [{ text: text(), pauseMs: 0 }];
  return Array.from({ length: 1 + random.below(4) }, () => ({ text: text(), pauseMs: random.below(3_500) }));
}

function complaint(
  soakSandbox: SoakSandbox,
  heard: Heard,
  executions: readonly { readonly podUid: string }[],
): string | undefined {
  switch (heard.how) {
    case "whole":
      return heard.podUid === executions[0]?.podUid ? undefined : "another Pod answered than the one that executed it";
    case "cut":
      return mayBeCut(soakSandbox, heard, executions.length > 0) ? undefined : "it was cut";
    default:
      return heard.how;
  }
}

/**
 * A connection may be cut by a manual suspension, in a sandbox that no connection can wake, or by a suspension for inactivity
 * after the idle time without data. Data after that may be too late to cancel the suspension; then the connection ends (decision 10).
 */
function mayBeCut({ kind, spec, pausedMs }: SoakSandbox, { quietMs }: Heard, isExecuted: boolean): boolean {
  if (performance.now() - pausedMs < pauseLastsMs) return true;
  const idleMs = (spec.autoSuspension?.inactivityTimeoutSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
  if (kind === "neverWoken" && !isExecuted) return true;
  return (kind === "sleeper" || kind === "neverWoken") && quietMs >= idleMs;
}
