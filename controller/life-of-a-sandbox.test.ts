import { describe, expect, it, vi } from "vitest";
import { persistentVolumeClaimType, podType, serviceType } from "../api/core.ts";
import { podNameAnnotation } from "../api/keys.ts";
import { openSandboxLab, waiting } from "../test/support/sandbox-lab.ts";

describe("a Sandbox from its creation on", () => {
  it("S31, S32, S45, S52, S72: gets its children, is ready, is suspended, and comes back on the same volume", async () => {
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
      // Creating it again and being ready again are repeats of the same events, which are gathered before they are told.
      expect(await lab.eventReasons()).toEqual(["SandboxPodCreated", "SandboxReady", "SandboxSuspended"]);
    }, waiting);
  });
});
