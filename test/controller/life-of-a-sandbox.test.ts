import { describe, expect, it, vi } from "vitest";
import { persistentVolumeClaimType, podType, serviceType } from "../../api/kinds/core.ts";
import { podNameAnnotation } from "../../api/rules/keys.ts";
import { readyStatus } from "../support/builders/builders.ts";
import { openSandboxLab } from "../support/labs/sandbox-lab.ts";
import { waiting } from "../support/waiting.ts";

describe("a Sandbox from its creation", () => {
  it("gets its children, becomes ready, is suspended, and resumes with the same volume", async () => {
    await using lab = await openSandboxLab();
    await lab.create({
      service: true,
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ],
    });
    const awake = await lab.untilCondition("Ready", { status: "True", message: "Pod is Ready; Service Exists" });
    expect(awake.metadata.annotations?.[podNameAnnotation]).toBe("nova");
    expect(awake.status).toMatchObject({ podIPs: ["10.1.0.5"], nodeName: "node-1", service: "nova" });
    const firstPod = await lab.find(podType);
    const claim = await lab.find(persistentVolumeClaimType, "data-nova");
    expect(firstPod?.spec?.volumes).toContainEqual({
      name: "data",
      persistentVolumeClaim: { claimName: "data-nova" },
    });

    await lab.change({ operatingMode: "Suspended" });
    const asleep = await lab.untilCondition("Suspended", { status: "True", reason: "PodTerminated" });
    expect(await lab.find(podType)).toBeUndefined();
    expect(await lab.find(serviceType)).toBeDefined();
    expect(asleep.status).toMatchObject({ selector: awake.status?.selector });
    expect(asleep.status).not.toHaveProperty("podIPs");

    await lab.change({ operatingMode: "Running" });
    await lab.untilCondition("Ready", { status: "True", message: "Pod is Ready; Service Exists" });
    const secondPod = await lab.find(podType);
    expect(secondPod?.metadata.uid).not.toBe(firstPod?.metadata.uid);
    expect((await lab.find(persistentVolumeClaimType, "data-nova"))?.metadata.uid).toBe(claim?.metadata.uid);
    await vi.waitFor(async () => {
      // The second creation and readiness repeat earlier events, which are combined before they are written.
      expect(await lab.eventReasons()).toEqual(["SandboxPodCreated", "SandboxReady", "SandboxSuspended"]);
    }, waiting);
  });

  it("creates its Pod first when it is resumed", async () => {
    await using lab = await openSandboxLab();
    await lab.create({ operatingMode: "Suspended" });
    await lab.untilCondition("Suspended", { status: "True" });
    await lab.untilQuiet();
    lab.client.calls.length = 0;
    await lab.change({ operatingMode: "Running" });
    await lab.untilCondition("Ready", { status: "True" });
    expect(lab.client.calls[0]).toMatchObject({ verb: "create", kind: "Pod", name: "nova" });
  });

  it("is not ready while its Pod is deleted, and gets a new Pod after that", async () => {
    await using lab = await openSandboxLab({ kubelet: false });
    await lab.create();
    await lab.untilCondition("Ready", { message: "Pod exists with phase: Pending" });
    const named = { namespace: "default", name: "nova" };
    const body = { status: readyStatus };
    await lab.client.patch(podType, named, { type: "merge", body }, { subresource: "status" });
    await lab.untilCondition("Ready", { status: "True" });
    const first = await lab.find(podType);
    await lab.client.delete(podType, named);
    await lab.untilCondition("Ready", {
      status: "False",
      reason: "DependenciesNotReady",
      message: "Pod is terminating",
    });
    expect((await lab.find(podType))?.metadata.uid).toBe(first?.metadata.uid);
    await lab.client.delete(podType, named, { gracePeriodSeconds: 0 });
    await lab.untilCondition("Ready", { message: "Pod exists with phase: Pending" });
    expect((await lab.find(podType))?.metadata.uid).not.toBe(first?.metadata.uid);
  });

  it("reaches the last requested mode after fast changes, without an error", async () => {
    await using lab = await openSandboxLab({ flags: ["--disable-sandbox-events"] });
    await lab.create();
    for (let wish = 0; wish < 40; wish += 1) {
      await lab.change({ operatingMode: wish % 2 === 0 ? "Suspended" : "Running" });
      // Some changes come before the former one is complete, others after it.
      if (wish % 5 === 0) await lab.untilQuiet();
    }
    const sandbox = await lab.untilCondition("Ready", { status: "True", observedGeneration: 41 });
    expect(sandbox.metadata.annotations?.[podNameAnnotation]).toBe("nova");
    await lab.change({ operatingMode: "Suspended" });
    await lab.untilCondition("Suspended", { status: "True", observedGeneration: 42 });
    expect(await lab.find(podType)).toBeUndefined();
    expect(await lab.metrics()).toContain('controller_runtime_reconcile_errors_total{controller="sandbox"} 0');
  });

  it("reports an unreadable shutdownTime and does not expire", async () => {
    await using lab = await openSandboxLab();
    await lab.create({ shutdownTime: ["2001-01-01T00:00:00Z"] as unknown as string });
    await lab.untilCondition("Ready", { status: "True" });
    await vi.waitFor(async () => expect(await lab.eventReasons()).toContain("UnreadableTime"), waiting);
    expect(await lab.metrics()).toContain('controller_runtime_reconcile_errors_total{controller="sandbox"} 0');
  });
});
