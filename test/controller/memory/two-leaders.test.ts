import { expect, it, vi } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import type { Status } from "../../../api/kinds/meta.ts";
import {
  givenUpAnnotation,
  memoryImageAnnotation,
  signatureAnnotation,
  signingGate,
  usedByAnnotation,
  withdrawnAnnotation,
} from "../../../api/rules/keys.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { kept, openRunning, untilTold } from "../../support/labs/memory-lab.ts";
import { waiting } from "../../support/labs/sleep-lab.ts";

it("memory that another leader gives up once the next Pod is there is not in that Pod, which goes", async () => {
  let meanwhile = async (): Promise<unknown> => undefined;
  const signed: unknown[] = [];
  await using running = await openRunning({}, async (call, proceed) => {
    const text = JSON.stringify(call.body ?? {});
    if (call.kind === "Pod" && call.verb === "patch" && text.includes(signatureAnnotation)) signed.push(call.body);
    const done = await proceed();
    if (call.kind === "Pod" && call.verb === "create" && text.includes(signingGate)) await meanwhile();
    return done;
  });
  const { lab, agent, pod } = running;
  meanwhile = () => {
    const body = { metadata: { annotations: { [givenUpAnnotation]: "NotScheduled" } } };
    const image = { namespace: "default", name: `pod-${pod.metadata.uid}` };
    return lab.client.patch(memoryImageType, image, { type: "merge", body });
  };
  await lab.change({ operatingMode: "Suspended" });
  expect((await lab.untilAsleep()).status?.hibernation).toMatchObject(kept);
  await lab.change({ operatingMode: "Running" });
  await untilTold(lab, { lastWake: { mode: "Anew", reason: "NotScheduled" } });
  expect((await lab.untilReady()).metadata.annotations).not.toHaveProperty([memoryImageAnnotation]);
  expect([signed, agent.restored]).toEqual([[], []]);
});

it("a Pod is not signed after another leader has withdrawn it, and the next one has the memory", async () => {
  const signed: string[] = [];
  await using running = await openRunning({}, async (call, proceed) => {
    const text = JSON.stringify(call.body ?? {});
    if (call.kind !== "Pod" || call.verb !== "patch" || !text.includes(signatureAnnotation)) return proceed();
    if (signed.length === 0) {
      signed.push("stands still");
      const body = { metadata: { annotations: { [withdrawnAnnotation]: "true" } } };
      await running.lab.client.patch(podType, { namespace: "default", name: "nova" }, { type: "merge", body });
    }
    const done = await proceed();
    signed.push("signed");
    return done;
  });
  const { lab, agent } = running;
  await lab.change({ operatingMode: "Suspended" });
  expect((await lab.untilAsleep()).status?.hibernation).toMatchObject(kept);
  await lab.change({ operatingMode: "Running" });
  await untilTold(lab, { lastWake: { mode: "Restored", durationMilliseconds: 412 } });
  expect(signed).toEqual(["stands still", "signed"]);
  expect(agent.restored).toEqual([(await lab.pod())?.metadata.uid]);
});

it("writes that fail in an outage cost no memory that no Pod has had", async () => {
  const failed: string[] = [];
  const outage: Status = {
    apiVersion: "v1",
    kind: "Status",
    status: "Failure",
    code: 500,
    message: "etcd leader changed",
  };
  await using running = await openRunning({}, async (call, proceed) => {
    const text = JSON.stringify(call.body ?? {});
    const writes = { sign: signatureAnnotation, withdraw: withdrawnAnnotation, free: `"${usedByAnnotation}":null` };
    const what = Object.entries(writes).find(([, key]) => call.verb === "patch" && text.includes(key))?.[0];
    if (what === undefined || failed.includes(what)) return proceed();
    failed.push(what);
    throw new ApiError(500, outage);
  });
  const { lab, agent } = running;
  await lab.change({ operatingMode: "Suspended" });
  expect((await lab.untilAsleep()).status?.hibernation).toMatchObject(kept);
  await lab.change({ operatingMode: "Running" });
  await vi.waitFor(async () => {
    expect((await lab.sandbox()).status?.hibernation?.lastWake?.mode).toBe("Restored");
  }, waiting);
  expect(failed).toEqual(["sign", "withdraw", "free"]);
  expect(agent.restored).toHaveLength(1);
});
