import { expect, it } from "vitest";
import { memoryImageType } from "../../../api/kinds/memory-image.ts";
import { givenUpAnnotation, memoryImageAnnotation, signatureAnnotation, signingGate } from "../../../api/rules/keys.ts";
import { kept, openRunning, untilTold } from "../../support/labs/memory-lab.ts";

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
