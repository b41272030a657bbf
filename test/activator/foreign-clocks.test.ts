import { describe, expect, it } from "vitest";
import { PodFences } from "../../activator/activity/pod-fences.ts";
import { resolveNow } from "../../activator/connect/connect-request.ts";
import { startCluster } from "../../activator/sandbox/cluster.ts";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { type Clock, FakeClock, systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../support/eventually.ts";
import { aSandbox, httpProgram, openActivatorWorld } from "../support/labs/activator-world.ts";
import { openMemoryApi } from "../support/memory-api.ts";

const minuteMs = 60_000;
const clocks = [
  { what: "ahead", aheadMs: 10 * minuteMs },
  { what: "behind", aheadMs: -10 * minuteMs },
];

/** The clock of a machine whose wall clock differs from that of the API server. */
const clockAhead = (aheadMs: number): Clock => ({
  now: () => new Date(systemClock.now().getTime() + aheadMs),
  ticksMs: () => systemClock.ticksMs(),
  after: (delayMs, task) => systemClock.after(delayMs, task),
  sleep: (delayMs, signal) => systemClock.sleep(delayMs, signal),
});

/** A view of one sandbox, `nova`, and of its Pod, by a clock that differs from that of the API server. */
async function openView(aheadMs: number) {
  await using opened = new AsyncDisposableStack();
  const { client } = opened.use(await openMemoryApi());
  const clock = new FakeClock(new Date(systemClock.now().getTime() + aheadMs));
  const sandbox = await client.create(sandboxType, aSandbox("nova"));
  const cluster = opened.use(startCluster({ client, clock, log: silentLogger }));
  await cluster.firstSeen;
  const owner = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", name: "nova", uid: sandbox.metadata.uid };
  const metadata = { name: "nova", namespace: "default", ownerReferences: [{ ...owner, controller: true }] };
  const spec = { containers: [{ name: "main", image: "program" }] };
  const pod = await client.create(podType, { apiVersion: "v1", kind: "Pod", metadata, spec });
  const options = { unschedulableGraceMs: minuteMs, allowLoopbackPodIp: true, proxyTimeoutMs: 0, dialRetryMs: 0 };
  const fences = new PodFences({ onFenced: () => {}, hasPod: () => false });
  const closing = opened.move();
  return {
    clock,
    /** Reports a status of the Pod, and waits until it is seen. */
    async report(status: object): Promise<void> {
      const body = { status: { startTime: pod.metadata.creationTimestamp, ...status } };
      const name = { namespace: "default", name: "nova" };
      const patched = await client.patch(podType, name, { type: "merge", body }, { subresource: "status" });
      await eventually(() => cluster.podOf(sandbox)?.metadata.resourceVersion === patched.metadata.resourceVersion);
    },
    resolution(): string {
      const to = { namespace: "default", name: "nova", port: 80 };
      const seen = resolveNow(to, undefined, undefined, { cluster, clock, options, fences });
      if (seen.is === "refused") return seen.error.code;
      if (seen.is === "addressed") return seen.target.young ? "young" : "old";
      return seen.is;
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const addressed = { phase: "Running", podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }] };

describe.each(clocks)("an activator whose wall clock is ten minutes $what", ({ aheadMs }) => {
  it("holds a request until the slow program of a woken sandbox listens", async () => {
    await using world = await openActivatorWorld(["--upstream-max-retries=1"], {}, { clock: clockAhead(aheadMs) });
    await world.asleep("nova");
    const response = fetch(world.activator.proxyUrl, { headers: { "X-Sandbox-ID": "nova" } });
    const podIp = async () => {
      const { items } = await world.api.client.list(podType, { namespace: "default" });
      return items[0]?.status?.podIP ?? "";
    };
    await eventually(async () => (await podIp()) !== "");
    await systemClock.sleep(600); // a closed port of an old Pod is retried for 200 ms
    await using _late = await httpProgram((_, answer) => answer.end("awake"))(await podIp());
    expect(await (await response).text()).toBe("awake");
  });

  it("lets a Pod be young for two minutes since it first saw its address", async () => {
    await using view = await openView(aheadMs);
    await view.clock.advance(3 * minuteMs); // it waits for a node
    await view.report(addressed);
    expect(view.resolution()).toBe("young");
    await view.clock.advance(2 * minuteMs - 1_000);
    await view.report({ ...addressed, message: "changed" });
    view.clock.jumpWall(-5 * minuteMs);
    expect(view.resolution()).toBe("young");
    await view.clock.advance(1_000);
    expect(view.resolution()).toBe("old");
  });

  it("lets a Pod be unschedulable for the whole grace, and again after a node was found", async () => {
    await using view = await openView(aheadMs);
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes" };
    const lastTransitionTime = systemClock.now().toISOString();
    const waits = { phase: "Pending", conditions: [{ ...condition, lastTransitionTime }] };
    const scheduled = { phase: "Pending", conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime }] };
    for (let round = 0; round < 2; round += 1) {
      await view.report(waits);
      await view.clock.advance(minuteMs - 1_000);
      await view.report({ ...waits, message: "changed" });
      expect(view.resolution()).toBe("pending");
      await view.clock.advance(1_000);
      expect(view.resolution()).toBe("Unschedulable");
      await view.report({ ...scheduled, message: `round ${round}` });
      expect(view.resolution()).toBe("pending");
    }
  });
});
