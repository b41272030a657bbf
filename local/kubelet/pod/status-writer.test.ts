import { expect, it } from "vitest";
import { podType } from "../../../api/kinds/core.ts";
import { ApiUnreachable } from "../../../kube/client/errors.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { type Intercept, interceptCalls } from "../../../test/support/fakes/intercepted-client.ts";
import { openMemoryApi } from "../../../test/support/memory-api.ts";
import { StatusWriter } from "./status-writer.ts";

/** A writer for a Pod that is bound already; the test says what its status is. */
async function openWriter(intercept: Intercept = (_call, proceed) => proceed()) {
  const api = await openMemoryApi();
  const pod = await api.client.create(podType, {
    metadata: { namespace: "default", name: "nova" },
    spec: { nodeName: "here", containers: [{ name: "main", image: "x" }] },
  });
  const clock = new FakeClock();
  const status = { message: "" };
  const writer = new StatusWriter({
    ...{ client: interceptCalls(api.client, intercept), clock, log: silentLogger, pod, nodeName: "here" },
    ...{ make: () => ({ ...status }), bound: () => {} },
  });
  return {
    ...{ client: api.client, pod, clock, writer },
    /** The status is this from now on. */
    says(message: string) {
      status.message = message;
      writer.changed();
    },
    written: async () => (await api.client.get(podType, { namespace: "default", name: "nova" })).status?.message,
    async [Symbol.asyncDispose]() {
      await writer.close();
      await api[Symbol.asyncDispose]();
    },
  };
}

it("writes a status that changes at any moment of a write, or just after it", async () => {
  let next: { readonly message: string; readonly afterSteps: number } | undefined;
  await using lab = await openWriter(async (_call, proceed) => {
    const answer = await proceed();
    void changeLater();
    return answer;
  });
  const changeLater = async () => {
    if (!next) return;
    const { message, afterSteps } = next;
    next = undefined;
    for (let step = 0; step < afterSteps; step += 1) await Promise.resolve();
    lab.says(message);
  };
  for (let afterSteps = 0; afterSteps < 40; afterSteps += 1) {
    next = { message: `second of ${afterSteps}`, afterSteps };
    lab.says(`first of ${afterSteps}`);
    await lab.writer.settled();
    // All steps are over once I/O has its turn.
    await new Promise((resolve) => setImmediate(resolve));
    await lab.writer.settled();
    expect(lab.writer.written).toEqual({ message: `second of ${afterSteps}` });
  }
});

it("writes the last status once the API server answers again", async () => {
  let isCutOff = true;
  await using lab = await openWriter(async (_call, proceed) => {
    if (isCutOff) throw new ApiUnreachable("cut off");
    return proceed();
  });
  lab.says("first");
  await lab.clock.advance(0);
  lab.says("second");
  isCutOff = false;
  await lab.clock.advance(100);
  await lab.writer.settled();
  expect(await lab.written()).toBe("second");
});

it("writes nothing more once another Pod has the name", async () => {
  let writes = 0;
  await using lab = await openWriter((_call, proceed) => {
    writes += 1;
    return proceed();
  });
  const { metadata, spec } = lab.pod;
  const where = { namespace: "default", name: "nova" };
  await lab.client.delete(podType, where, { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } });
  await lab.client.create(podType, { metadata: where, spec: { ...spec, containers: spec?.containers ?? [] } });
  lab.says("of the first one");
  await lab.writer.settled();
  lab.says("of the first one, later");
  await lab.writer.settled();
  expect(writes).toBe(1);
  expect(await lab.written()).toBeUndefined();
});

it("gives the last write up in time if the API server refuses it each time", async () => {
  await using lab = await openWriter(async () => {
    throw new ApiUnreachable("cut off");
  });
  lab.says("last");
  const finished = lab.writer.finish(5_000);
  await lab.clock.advance(5_000);
  await finished;
});

it("writes nothing more to a Pod that is deleted, nor once it is closed", async () => {
  let writes = 0;
  await using lab = await openWriter(async (_call, proceed) => {
    writes += 1;
    return proceed();
  });
  lab.says("first");
  await lab.writer.close();
  lab.says("second");
  await lab.writer.settled();
  expect(writes).toBeLessThanOrEqual(1);
});

it("writes its status again where another client has changed it, and once only", async () => {
  let writes = 0;
  await using lab = await openWriter((_call, proceed) => {
    writes += 1;
    return proceed();
  });
  lab.says("ours");
  await lab.writer.settled();
  const where = { namespace: "default", name: "nova" };
  lab.writer.seen(await lab.client.get(podType, where));
  await lab.writer.settled();
  expect(writes).toBe(1);
  const foreign = { type: "merge", body: { status: { message: "theirs", reason: "Extra" } } } as const;
  const changed = await lab.client.patch(podType, where, foreign, { subresource: "status" });
  lab.writer.seen(changed);
  await lab.writer.settled();
  expect(await lab.written()).toBe("ours");
  // What has come late tells of no change.
  lab.writer.seen(changed);
  await lab.writer.settled();
  expect(writes).toBe(2);
});
