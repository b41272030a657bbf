import { Counter, type Registry } from "prom-client";
import { type UnfinishedHead, unknownOwner } from "../http1/front/head-budget.ts";

/** Counts heads that were shed because unfinished heads took too much memory. */
export function createHeadMetrics(registry: Registry): (head: Pick<UnfinishedHead, "owner">) => void {
  const registers = [registry];
  const requests = new Counter({
    name: "rouse_activator_unfinished_heads_shed_total",
    help: "HTTP and HTTPS connections of clients that were closed because unfinished request heads took too much memory.",
    registers,
  });
  const responses = new Counter({
    name: "rouse_activator_unfinished_response_heads_shed_total",
    help: "Requests that failed because the activator dropped the unfinished head of their response: unfinished heads took too much memory.",
    registers,
  });
  return ({ owner }) => (owner === unknownOwner ? requests : responses).inc();
}
