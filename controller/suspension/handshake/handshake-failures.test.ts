import { describe, expect, it } from "vitest";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { findCondition } from "../../../api/rules/conditions.ts";
import { podNameAnnotation } from "../../../api/rules/keys.ts";
import { sealOf } from "../../../api/rules/suspension.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { interceptCalls } from "../../../test/support/fakes/intercepted-client.ts";
import { openSleepLab, type SleepLab, waiting } from "../../../test/support/labs/sleep-lab.ts";
import { passingTime } from "../../../test/support/passing-time.ts";

const refusal = (code: number, message: string) =>
  new ApiError(code, { apiVersion: "v1", kind: "Status", code, reason: "Forbidden", message });

/** A client that may not delete Pods while `state.refused` is set, and counts how often it tried. */
function withoutDeletes(client: KubeClient) {
  const state = { refused: true, attempts: 0 };
  const refusing = interceptCalls(client, async (call, proceed) => {
    if (call.verb !== "delete" || call.kind !== "Pod") return proceed();
    state.attempts += 1;
    if (state.refused) throw refusal(403, 'pods "nova" is forbidden');
    return proceed();
  });
  return { client: refusing, state };
}

const conditionOf = async (lab: SleepLab, type: string) =>
  findCondition((await lab.sandbox()).status?.conditions, type);

const untilReported = (lab: SleepLab, message: string) =>
  expect.poll(async () => (await conditionOf(lab, "Ready"))?.message, waiting).toBe(message);

describe("a suspension that fails", () => {
  it("is reported by the conditions and by an event when the Pod may not be deleted", async () => {
    await using lab = await openSleepLab();
    await using _controller = await lab.startController({ client: withoutDeletes(lab.client).client });
    await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 3_600 } });
    await lab.untilReady();
    await lab.change({ operatingMode: "Suspended" });
    await untilReported(lab, 'Error seen: pods "nova" is forbidden');
    const pending = { status: "False", observedGeneration: 2 };
    expect(await conditionOf(lab, "Ready")).toMatchObject({ ...pending, reason: "ReconcilerError" });
    expect(await conditionOf(lab, "Suspended")).toMatchObject({ ...pending, reason: "PodTerminating" });
    await expect
      .poll(() => lab.eventNotes("SandboxSuspensionFailed"), waiting)
      .toEqual(['Failed to suspend: pods "nova" is forbidden']);
  });

  it("does not keep the other children from being made when activators cannot be listed", async () => {
    await using lab = await openSleepLab();
    const { client: base } = lab;
    let broken = false;
    const client: KubeClient = {
      ...interceptCalls(base, (_call, proceed) => proceed()),
      list: async (type, options, signal) => {
        if (broken && options?.labelSelector === "app=sandbox-router") throw refusal(403, "no list of activators");
        return base.list(type, options, signal);
      },
    };
    await using _controller = await lab.startController({ client });
    await lab.create({});
    await lab.untilReady();
    broken = true;
    await lab.change({ operatingMode: "Suspended", service: true });
    await untilReported(lab, "Error seen: no list of activators");
    await expect.poll(async () => (await lab.sandbox()).status?.service, waiting).toBe("nova");
  });

  it("completes within half a minute of the end of an outage of any length", {
    timeout: 60_000,
  }, async () => {
    await using lab = await openSleepLab();
    const { clock, pass } = passingTime();
    const { client, state } = withoutDeletes(lab.client);
    await using _controller = await lab.startController({ client, clock });
    await lab.create({ autoSuspension: { inactivityTimeoutSeconds: 10 } });
    await lab.untilReady();
    await pass(60);
    expect(sealOf(await lab.sandbox())).toBeDefined();
    expect(await conditionOf(lab, "Ready")).toMatchObject({ status: "False", reason: "ReconcilerError" });
    await pass(600);
    // Twelve while the delay grows, and one in 15 to 30 seconds after that.
    expect(state.attempts).toBeLessThan(70);
    state.refused = false;
    await pass(32);
    expect(await lab.pod()).toBeUndefined();
  });
});

describe("a sandbox whose annotation names an invalid Pod", () => {
  it.each(["..", "a/b", "%2e%2e"])("is suspended all the same: %s", async (name) => {
    await using lab = await openSleepLab();
    await using _controller = await lab.startController();
    await lab.client.create(sandboxType, {
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { namespace: "default", name: "nova", annotations: { [podNameAnnotation]: name } },
      spec: {
        operatingMode: "Suspended",
        podTemplate: { spec: { containers: [{ name: "main", image: "busybox" }] } },
      },
    });
    await lab.untilAsleep();
  });
});
