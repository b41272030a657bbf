import { describe, expect, it } from "vitest";
import type { Pod } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { PodSpec, PodStatus } from "../../api/kinds/pod.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { httpProgram, openActivatorWorld } from "../../test/support/labs/activator-world.ts";
import { sightsAfter } from "../sandbox/pod-sights.ts";
import { type Resolution, resolveSandbox } from "../sandbox/resolve.ts";
import type { PodFailureCode } from "./detect-failures.ts";

const podIP = "127.250.7.1";
const waiting = { reason: "CrashLoopBackOff", message: "it exits" };
const terminated = { reason: "Completed", exitCode: 0 };
const unschedulable = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes" } as const;

interface Row {
  readonly status: PodStatus;
  /** What the failure reads of it; absent: nothing. */
  readonly spec?: Partial<PodSpec>;
  /** If it does not, a port that accepts disproves the failure. */
  readonly endsAtOnce: boolean;
}

const withContainer = (state: object): PodStatus => ({
  phase: "Running",
  containerStatuses: [{ name: "main", ready: false, restartCount: 2, image: "program", imageID: "", state }],
});

/** Every failure of a Pod, by what the Pod is like: a new one needs its row here. */
const rows: Readonly<Record<PodFailureCode, Readonly<Record<string, Row>>>> = {
  PodEnded: { "was evicted": { status: { phase: "Failed", reason: "Evicted" }, endsAtOnce: true } },
  ContainerFailed: {
    "exits again and again": { status: withContainer({ waiting }), endsAtOnce: false },
    "has exited and is not restarted": {
      status: withContainer({ terminated }),
      spec: { restartPolicy: "Never" },
      endsAtOnce: false,
    },
  },
  Unschedulable: {
    "fits no node": {
      status: {
        phase: "Pending",
        conditions: [{ ...unschedulable, lastTransitionTime: systemClock.now().toISOString() }],
      },
      endsAtOnce: false,
    },
  },
};

const cases = Object.entries(rows).flatMap(([code, states]) =>
  Object.entries(states).map(([state, row]) => ({
    ...{ code, state, spec: {}, ...row },
    what: row.endsAtOnce ? "fails" : "succeeds",
  })),
);

it.each(cases)("a request to a Pod that $state $what if the port accepts", async (row) => {
  await using world = await openActivatorWorld(["--unschedulable-grace=1ms"]);
  await using _program = await httpProgram((_, response) => response.end("reached"))(podIP);
  world.kubelet.report("nova", { ...row.status, podIP });
  const podTemplate = { spec: { containers: [{ name: "main", image: "program" }], ...row.spec } };
  await world.asleep("nova", undefined, { podTemplate });
  const headers = { "X-Sandbox-ID": "nova", "X-Sandbox-Timeout": "5" };
  const response = await fetch(world.activator.proxyUrl, { headers });
  const text = await response.text();
  const reason = response.headers.get("x-rouse-reason");
  expect({ reason, reached: text === "reached" }).toEqual({
    reason: row.endsAtOnce ? row.code : null,
    reached: !row.endsAtOnce,
  });
});

const hourMs = 3_600_000;

/** Resolves requests to one version of a sandbox and its Pod, which the activator first saw at 0 ms. */
function resolver(pod: Stored<Pod>, sandbox = aSandbox({}, { namespace: "lab", uid: "u1" })) {
  const sightings = { sightsOf: () => sightsAfter(undefined, pod, 0) };
  return (nowMs: number): Resolution =>
    resolveSandbox({
      ...{ routed: { namespace: "lab", name: "nova", port: 80 }, sandbox, pod, firstUid: undefined, now: new Date(0) },
      ...{ nowMs, sightings, unschedulableGraceMs: 90_000, allowLoopbackPodIp: false, validForMs: 10 * hourMs },
      ...{ fences: { reportedGeneration: 0, fenced: new Set<string>() }, ignored: false },
    });
}

const inWords = (seen: Resolution): string => {
  if (seen.is === "refused") return `ended by ${seen.error.code}`;
  return seen.is === "addressed" ? `addressed, failure: ${seen.failure?.code}, young: ${seen.target.young}` : seen.is;
};

describe.each(cases)("a Pod that $state, for an hour", ({ code, status, spec, endsAtOnce }) => {
  const owner = aSandbox({}, { namespace: "lab", uid: "u1" });
  const podWith = (more: PodStatus): Stored<Pod> => {
    const pod = aPodOf(owner, { uid: "p1" }, { ...status, ...more });
    return { ...pod, spec: { containers: [], ...pod.spec, ...spec } };
  };
  const withAddress = podWith({ podIP: "10.0.0.5" });
  const withoutAddress = podWith({});

  it("has the failure, and with an address one attempt to connect unless it ends at once", () => {
    expect(inWords(resolver(withoutAddress)(hourMs))).toBe(`ended by ${code}`);
    const one = endsAtOnce ? `ended by ${code}` : `addressed, failure: ${code}, young: false`;
    expect(inWords(resolver(withAddress)(hourMs))).toBe(one);
  });

  it.each([
    { what: "with", pod: withAddress },
    { what: "without", pod: withoutAddress },
  ])("$what an address is resolved again at each moment at which time alone changes it", ({ pod }) => {
    const cached = resolver(pod);
    let nowMs = 0;
    while (nowMs <= hourMs) {
      const seen = cached(nowMs);
      expect(seen).toEqual(resolver(pod)(nowMs));
      if (seen.is === "refused") return;
      nowMs += seen.recheckAfterMs;
      expect(inWords(resolver(pod)(nowMs - 1))).toBe(inWords(seen));
    }
  });
});
