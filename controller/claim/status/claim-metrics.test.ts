import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import {
  clientFirstRequestedAtAnnotation,
  controllerFirstObservedAtAnnotation,
  createdByLabel,
  webhookFirstObservedAtAnnotation,
} from "../../../api/rules/keys.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { aClaimed, aCondition, aSandboxClaim, aSpare } from "../../../test/support/builders/claim-builders.ts";
import { LifecycleMetrics } from "../../sandbox/metrics/lifecycle-metrics.ts";
import { ClaimMetrics } from "./claim-metrics.ts";

const msEarlier = (ms: number) => new Date(new Date(noon).getTime() - ms).toISOString();
const ready = aCondition({ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T12:00:02Z" });
const bound = aClaimed(aSandboxClaim(), {}, { conditions: [ready] });

function open() {
  const registry = new Registry();
  const metrics = new ClaimMetrics(registry, new LifecycleMetrics(registry, new FakeClock()), new FakeClock());
  return { registry, metrics };
}

/** Count and sum of each latency after a first Ready at noon. */
async function timed(annotations: Record<string, string>, sandbox: Sandbox | undefined = bound, seenAt?: string) {
  const { registry, metrics } = open();
  metrics.firstReady(aSandboxClaim({}, { annotations }), sandbox, seenAt, new Date(noon));
  const text = await registry.metrics();
  const latency = (family: string) => {
    const count = new RegExp(`^agent_sandbox_${family}_latency_ms_count\\{.*\\} (\\d+)`, "m").exec(text)?.[1];
    const sum = new RegExp(`^agent_sandbox_${family}_latency_ms_sum\\{.*\\} (\\d+)`, "m").exec(text)?.[1];
    return count === undefined ? undefined : `${count} of ${sum} ms`;
  };
  return {
    startup: latency("claim_startup"),
    controller: latency("claim_controller_startup"),
    client: latency("client_claim_startup"),
    creation: latency("creation"),
  };
}

describe("the first Ready of a claim", () => {
  const annotations = {
    [webhookFirstObservedAtAnnotation]: msEarlier(300),
    [controllerFirstObservedAtAnnotation]: msEarlier(200),
    [clientFirstRequestedAtAnnotation]: msEarlier(400),
  };

  it("is timed from admission, first sight and the client's request; its sandbox from creation", async () => {
    expect(await timed(annotations)).toEqual({
      startup: "1 of 300 ms",
      controller: "1 of 200 ms",
      client: "1 of 400 ms",
      creation: "1 of 2000 ms",
    });
  });

  it("is timed from a sight that is not written on it", async () => {
    expect((await timed({}, bound, msEarlier(50))).controller).toBe("1 of 50 ms");
  });

  it.each<[string, Record<string, string>, object]>([
    ["of its admission", { [webhookFirstObservedAtAnnotation]: "" }, { startup: undefined }],
    ["of an admission in the future", { [webhookFirstObservedAtAnnotation]: msEarlier(-1) }, { startup: undefined }],
    ["of its client's wish", { [clientFirstRequestedAtAnnotation]: "" }, { client: undefined }],
    ["of a wish that is no time", { [clientFirstRequestedAtAnnotation]: "soon" }, { client: undefined }],
    ["of a wish at a number", { [clientFirstRequestedAtAnnotation]: "5" }, { client: undefined }],
    ["of a wish at a day", { [clientFirstRequestedAtAnnotation]: noon.slice(0, 10) }, { client: undefined }],
  ])("%s is not timed, all else is", async (_case, changed, missing) => {
    const all = await timed(annotations);
    expect(await timed({ ...annotations, ...changed })).toEqual({ ...all, ...missing });
  });

  it("without a sandbox in view is of an unknown launch", async () => {
    const { registry, metrics } = open();
    metrics.firstReady(aSandboxClaim({}, { annotations }), undefined, undefined, new Date(noon));
    const text = await registry.metrics();
    expect(text).toContain(
      'agent_sandbox_claim_startup_latency_ms_count{sandbox_template="__unknown__",launch_type="unknown"} 1',
    );
    expect(text).not.toMatch(/agent_sandbox_creation_latency_ms_count\{/);
  });
});

describe("the count of sandboxes that claims got", () => {
  it("distinguish cold from warm, ready from not ready, and the creators", async () => {
    const { registry, metrics } = open();
    const claim = aSandboxClaim({}, { labels: { [createdByLabel]: "python-client" } });
    metrics.provisioned({ claim, sandbox: aClaimed(claim), launchType: "cold", poolName: "warm" });
    metrics.provisioned({ claim: aSandboxClaim(), sandbox: aSpare(), launchType: "warm", poolName: "warm" });
    const unready = aSpare({ ready: false, metadata: { annotations: {} } });
    metrics.provisioned({ claim: aSandboxClaim(), sandbox: unready, launchType: "warm", poolName: "warm" });
    const counted = (await registry.metrics()).match(/^agent_sandbox_claim_creation_total\{.*/gm);
    const line = (labels: string) => `agent_sandbox_claim_creation_total{namespace="lab",${labels}} 1`;
    expect(counted).toEqual([
      line(
        'sandbox_template="tpl",warmpool_name="warm",launch_type="cold",pod_condition="not_ready",created_by="python-client"',
      ),
      line('sandbox_template="tpl",warmpool_name="warm",launch_type="warm",pod_condition="ready",created_by="unknown"'),
      line(
        'sandbox_template="__unknown__",warmpool_name="warm",launch_type="warm",pod_condition="not_ready",created_by="unknown"',
      ),
    ]);
  });
});
