import { type Conversation, converse, type Heard } from "../sleep/conversation.ts";
import { rawPort } from "../sleep/raw-workload.ts";
import type { TestBed } from "../sleep/test-bed.ts";
import { eventually } from "../support/eventually.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Findings } from "./findings.ts";
import type { Names } from "./names.ts";
import type { Inhabitant } from "./population.ts";

export interface ByNameOptions {
  readonly bed: TestBed;
  readonly names: Names;
  readonly random: SeededRandom;
  readonly findings: Findings;
}

/** As long as it may take until a controller leads again and has asked. */
const nowhereMs = 120_000;
const longestText = 64 * 1024;
/** A process that is new may still open the ports on which its predecessor listened. */
const settlingMs = 15_000;
/** From a person's pause until what was open to that Pod has ended, with whatever fault in between. */
const pauseLastsMs = 120_000;

/** One raw connection by name, on which everything that comes back is checked. */
export async function talkByName(id: string, inhabitant: Inhabitant, options: ByNameOptions): Promise<void> {
  const { bed, names, random, findings } = options;
  const { name } = inhabitant;
  let route = names.route(name, rawPort, random);
  if (!route) {
    // The only one that was known to listen has just begun anew, and the others have not been heard yet.
    findings.count("names that led nowhere for a moment");
    await eventually(() => names.route(name, rawPort, random), nowhereMs).catch(() => {});
    route = names.route(name, rawPort, random);
  }
  if (!route) return findings.complain(`the name of ${name} leads nowhere for ${nowhereMs} ms`);
  const by = bed.activators.find(({ host }) => host === route.host);
  const deaths = by?.deaths ?? 0;
  const isNew = !by?.ready || performance.now() - by.readySinceMs < settlingMs;
  const heard = await converse({ ...route, id, texts: someTexts(id, random) });
  const executions = bed.node.ledger.of(id);
  bed.node.ledger.forget(id);
  if (executions.length > 1) findings.complain(`${id} was carried out ${executions.length} times`);
  // One that is listed and not there any more is on its way out.
  const isDead = !by || by.deaths !== deaths;
  if ((isDead && heard.how !== "wrong") || (isNew && heard.how === "refused")) {
    return findings.count("raw connections by a replica that was killed");
  }
  const why = complaint(inhabitant, heard, executions);
  if (why === undefined) return findings.count(`raw connections: ${heard.how}`);
  const { bytes, saidBytes, quietMs } = heard;
  const facts = `${bytes} of ${saidBytes} bytes, quiet for ${quietMs.toFixed(0)} ms, carried out: ${executions.length}`;
  findings.complain(
    `${id} by the name of ${name} (${inhabitant.kind}) by ${by?.name ?? "one that is gone"}: ${why} (${facts})`,
  );
}

/** Half of them say it all at once, as a job does; the others are quiet in between, some for longer than is idle. */
function someTexts(id: string, random: SeededRandom): Conversation["texts"] {
  const text = () => `${id} `.repeat(1 + random.below(longestText / (id.length + 1)));
  if (random.below(2) === 0) return [{ text: text(), pauseMs: 0 }];
  return Array.from({ length: 1 + random.below(4) }, () => ({ text: text(), pauseMs: random.below(3_500) }));
}

function complaint(
  inhabitant: Inhabitant,
  heard: Heard,
  executions: readonly { readonly podUid: string }[],
): string | undefined {
  switch (heard.how) {
    case "whole":
      return heard.podUid === executions[0]?.podUid ? undefined : "another Pod answered than carried it out";
    case "cut":
      return mayBeCut(inhabitant, heard, executions.length > 0) ? undefined : "it was cut";
    default:
      return heard.how;
  }
}

/**
 * By a person, by an owner who lets nobody wake it, or in its sleep: when nothing had moved for as long as that takes. What moved
 * after that may have come too late to call the sleep off, and was told by the end (decision 10).
 */
function mayBeCut({ kind, spec, pausedMs }: Inhabitant, { quietMs }: Heard, carriedOut: boolean): boolean {
  if (performance.now() - pausedMs < pauseLastsMs) return true;
  const idleMs = (spec.autoSuspension?.inactivityTimeoutSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
  if (kind === "neverWoken" && !carriedOut) return true;
  return (kind === "sleeper" || kind === "neverWoken") && quietMs >= idleMs;
}
