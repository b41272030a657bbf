import type { ActivatorReplica } from "./activator-replica.ts";

const countsOfEnds = /^rouse_activator_\w*(cut|failed|refused|dropped|shed|closed)\w* *(\{|\d)/;

/** How many connections and requests the activator ended or rejected, by reason. It explains a cut. */
export async function endCounts(activator: ActivatorReplica): Promise<string> {
  const lines = (await activator.metrics()).split("\n");
  return lines.filter((line) => countsOfEnds.test(line) && !line.endsWith(" 0")).join("\n");
}
