import { expect, it } from "vitest";
import type { PodStatus } from "../../api/kinds/pod.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { httpProgram, openActivatorWorld } from "../../test/support/labs/activator-world.ts";
import type { PodFailureCode } from "./failure-reasons.ts";

const podIP = "127.250.7.1";
const waiting = { reason: "CrashLoopBackOff", message: "it exits" };
const unschedulable = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes" } as const;

interface Row {
  readonly status: PodStatus;
  /** If it does not, a port that accepts disproves the failure. */
  readonly endsAtOnce: boolean;
}

/** Every failure of a Pod: a new one needs its row here. */
const rows: Readonly<Record<PodFailureCode, Row>> = {
  PodEnded: { status: { phase: "Failed", reason: "Evicted" }, endsAtOnce: true },
  ContainerFailed: {
    status: {
      phase: "Running",
      containerStatuses: [
        { name: "main", ready: false, restartCount: 2, image: "program", imageID: "", state: { waiting } },
      ],
    },
    endsAtOnce: false,
  },
  Unschedulable: {
    status: {
      phase: "Pending",
      conditions: [{ ...unschedulable, lastTransitionTime: systemClock.now().toISOString() }],
    },
    endsAtOnce: false,
  },
};

const cases = Object.entries(rows).map(([code, row]) => ({
  code,
  ...row,
  what: row.endsAtOnce ? "fails" : "succeeds",
}));

it.each(cases)("a request to a Pod whose port accepts $what if its state is $code", async (row) => {
  await using world = await openActivatorWorld(["--unschedulable-grace=1ms"]);
  await using _program = await httpProgram((_, response) => response.end("reached"))(podIP);
  world.kubelet.report("nova", { ...row.status, podIP });
  await world.asleep("nova");
  const headers = { "X-Sandbox-ID": "nova", "X-Sandbox-Timeout": "5" };
  const response = await fetch(world.activator.proxyUrl, { headers });
  const text = await response.text();
  const reason = response.headers.get("x-rouse-reason");
  expect({ reason, reached: text === "reached" }).toEqual({
    reason: row.endsAtOnce ? row.code : null,
    reached: !row.endsAtOnce,
  });
});
