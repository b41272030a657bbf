import { expect, it, vi } from "vitest";
import { endpointSliceType, tcpFrontSliceName } from "../../api/between-programs/tcp-front.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { openFrontLab, portsOf } from "../../test/support/labs/front-lab.ts";
import { waiting } from "../../test/support/waiting.ts";

it("a slice that is made again takes no port that another one got while its sandbox was read", async () => {
  await using lab = await openFrontLab();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  let isDeletedByTest = false;
  const client = interceptCalls(lab.client, async ({ verb, kind, name }, proceed) => {
    const result = await proceed();
    if (verb === "get" && kind === "Sandbox" && name === "nova" && isDeletedByTest) {
      asked.resolve();
      await answer.promise;
    }
    return result;
  });
  await using _controller = await lab.startController({ client });
  const nova = await lab.create();
  const slice = await lab.untilLeadingTo(nova, "10.0.0.1");
  const ownPort = portsOf(slice);
  await vi.waitFor(async () => {
    const { status } = await lab.client.get(sandboxType, nova.metadata);
    expect(status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
  }, waiting);
  const at = { namespace: "default", name: tcpFrontSliceName(nova.metadata.uid) };
  // A second creation for a sandbox that has not changed is preceded by a read.
  await lab.client.delete(endpointSliceType, at);
  await vi.waitFor(async () => expect((await lab.slice(nova))?.metadata.uid).not.toBe(slice.metadata.uid), waiting);
  isDeletedByTest = true;
  await lab.client.delete(endpointSliceType, at);
  await asked.promise;
  const other = await lab.create({}, "other");
  const othersPorts = portsOf(await lab.untilLeadingTo(other, "10.0.0.1"));
  answer.resolve();
  const again = portsOf(await lab.untilLeadingTo(nova, "10.0.0.1"));
  expect(othersPorts).not.toEqual(ownPort);
  expect(again).not.toEqual(othersPorts);
});
