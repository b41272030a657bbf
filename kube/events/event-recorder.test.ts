import { describe, expect, it, vi } from "vitest";
import { type Event, eventType } from "../../api/kinds/core.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { aFailure, answerJson, openScriptedApi } from "../../test/support/fakes/scripted-api.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { waiting } from "../../test/support/waiting.ts";
import type { KubeClient } from "../client/client.ts";
import { createEventRecorder } from "./event-recorder.ts";

const sandbox: KubeObject = { kind: "Sandbox", metadata: { namespace: "default", name: "nova", uid: "u1" } };
const newEvent = {
  regarding: sandbox,
  type: "Normal",
  reason: "SandboxReady",
  action: "Reconciling",
  note: "it is ready",
} as const;

const reporter = { reportingController: "sandbox-controller", reportingInstance: "pod-1" };
const openRecorder = (client: KubeClient, clock = systemClock, log = silentLogger) =>
  createEventRecorder({ client, clock, log, ...reporter });

describe("an event recorder", () => {
  it("writes an event, and its repeats as a count on it", async () => {
    await using api = await openMemoryApi();
    const clock = new FakeClock();
    await using recorder = openRecorder(api.client, clock);
    const events = async () => (await api.client.list(eventType, { namespace: "default" })).items;
    recorder.record(newEvent);
    await vi.waitFor(async () => expect(await events()).toMatchObject([{ note: "it is ready" }]), waiting);
    expect((await events())[0]).not.toHaveProperty("series");
    recorder.record(newEvent);
    recorder.record(newEvent);
    await clock.advance(60_000);
    await vi.waitFor(async () => expect(await events()).toMatchObject([{ series: { count: 3 } }]), waiting);
  });

  it("writes the count of repeats that happened before the first write began", async () => {
    const clock = new FakeClock();
    const written: unknown[] = [];
    const first = Promise.withResolvers<void>();
    await using api = await openMemoryApi();
    const client = interceptCalls(api.client, async ({ verb, body }, proceed) => {
      written.push(verb === "create" ? (body as Event).reason : body);
      if (written.length === 1) await first.promise;
      return proceed();
    });
    await using recorder = openRecorder(client, clock);
    recorder.record({ ...newEvent, reason: "Busy" });
    await clock.advance(1);
    for (let repeat = 0; repeat < 10; repeat += 1) recorder.record({ ...newEvent, reason: "Failed" });
    first.resolve();
    await vi.waitFor(() => expect(written).toHaveLength(2), waiting);
    await clock.advance(60_000);
    await vi.waitFor(() => expect(written).toHaveLength(3), waiting);
    expect(written).toEqual(["Busy", "Failed", { series: expect.objectContaining({ count: 10 }) }]);
  });

  it("logs once a minute how many events it dropped before they were written", async () => {
    await using api = await openScriptedApi(() => {});
    const clock = new FakeClock();
    const warn = vi.fn();
    const onDropped = vi.fn();
    const recorder = createEventRecorder({
      ...{ client: api.client, clock, log: { ...silentLogger, warn }, onDropped },
      ...reporter,
    });
    const recordMany = (kind: string) => {
      for (let number = 0; number < 1_010; number += 1) {
        recorder.record({
          ...newEvent,
          regarding: { kind, metadata: { name: `box-${number}`, namespace: "default" } },
        });
      }
    };
    recordMany("Sandbox");
    expect(onDropped.mock.calls).toEqual(Array.from({ length: 10 }, () => ["backlog"]));
    expect(warn.mock.calls.map(([{ dropped }]) => dropped)).toEqual([1]);
    await clock.advance(60_000);
    recordMany("SandboxClaim");
    expect(warn.mock.calls.map(([{ dropped }]) => dropped)).toEqual([1, 10]);
    const closed = recorder[Symbol.asyncDispose]();
    await clock.advance(2_000);
    await closed;
  });

  it("reports each event that is not written, with the reason", async () => {
    await using api = await openScriptedApi((_, response) => answerJson(response, 422, aFailure(422, "Invalid")));
    const onDropped = vi.fn();
    await using recorder = createEventRecorder({
      ...{ client: api.client, clock: new FakeClock(), log: silentLogger, onDropped },
      ...reporter,
    });
    recorder.record(newEvent);
    await vi.waitFor(() => expect(onDropped.mock.calls).toEqual([["write_failed"]]), waiting);
    for (let number = 0; number < 30; number += 1) recorder.record({ ...newEvent, note: `change ${number}` });
    expect(onDropped.mock.calls[1]).toEqual(["object_rate_limit"]);
  });

  it("writes pending events when disposed", async () => {
    await using api = await openMemoryApi();
    const recorder = openRecorder(api.client);
    recorder.record(newEvent);
    recorder.record(newEvent);
    recorder.record({ ...newEvent, note: "something else" });
    await recorder[Symbol.asyncDispose]();
    const { items } = await api.client.list(eventType, { namespace: "default" });
    expect(items.map(({ note, series }) => `${note} ${series?.count ?? 1}`).sort()).toEqual([
      "it is ready 2",
      "something else 1",
    ]);
  });

  it("takes no more events once it is being disposed of", async () => {
    let answer = () => {};
    await using api = await openScriptedApi((_, response) => {
      answer = () => answerJson(response, 201, {});
    });
    const recorder = openRecorder(api.client);
    recorder.record(newEvent);
    await vi.waitFor(() => expect(api.received).toHaveLength(1), waiting);
    const closed = recorder[Symbol.asyncDispose]();
    recorder.record({ ...newEvent, note: "too late" });
    answer();
    await closed;
    expect(api.received).toHaveLength(1);
  });

  it("gives up waiting for a server that does not answer two seconds after it is disposed of", async () => {
    const clock = new FakeClock();
    await using api = await openScriptedApi(() => {});
    const recorder = openRecorder(api.client, clock);
    recorder.record(newEvent);
    await vi.waitFor(() => expect(api.received).toHaveLength(1), waiting);
    const closed = recorder[Symbol.asyncDispose]();
    await clock.advance(2_000);
    await closed;
    expect(clock.pending).toBe(0);
  });

  it("retries at most five times while the server is unreachable, and then continues", async () => {
    const clock = new FakeClock();
    await using api = await openScriptedApi((_, response) => response.destroy());
    await using recorder = openRecorder(api.client, clock);
    recorder.record(newEvent);
    await vi.waitFor(async () => {
      await clock.advance(10_000);
      expect(api.received).toHaveLength(5);
    }, waiting);
    await clock.advance(60_000);
    expect(api.received).toHaveLength(5);
    recorder.record({ ...newEvent, note: "next" });
    await vi.waitFor(() => expect(api.received[5]?.body).toMatchObject({ note: "next" }), waiting);
  });

  it("does not retry an event that the server rejects", async () => {
    const clock = new FakeClock();
    await using api = await openScriptedApi((_, response) => answerJson(response, 403, aFailure(403, "Forbidden")));
    await using recorder = openRecorder(api.client, clock);
    recorder.record(newEvent);
    await vi.waitFor(() => expect(api.received).toHaveLength(1), waiting);
    await clock.advance(60_000);
    expect(api.received).toHaveLength(1);
  });

  it("writes the events of other namespaces while a write in one hangs", async () => {
    await using api = await openScriptedApi(({ path, body }, response) => {
      if (!path.includes("/slow/")) answerJson(response, 201, body);
    });
    const clock = new FakeClock();
    const recorder = openRecorder(api.client, clock);
    const record = (namespace: string, name: string) =>
      recorder.record({ ...newEvent, regarding: { kind: "Sandbox", metadata: { namespace, name } } });
    for (const name of ["a", "b"]) record("slow", name);
    for (const name of ["a", "b"]) record("good", name);
    const written = (namespace: string) => api.received.filter(({ path }) => path.includes(`/${namespace}/`)).length;
    await vi.waitFor(() => expect([written("good"), written("slow")]).toEqual([2, 1]), waiting);
    const closed = recorder[Symbol.asyncDispose]();
    await clock.advance(2_000);
    await closed;
  });

  it("treats its own existing event as written", async () => {
    const clock = new FakeClock();
    await using api = await openScriptedApi(({ method }, response) =>
      method === "POST" ? answerJson(response, 409, aFailure(409, "AlreadyExists")) : answerJson(response, 200, {}),
    );
    await using recorder = openRecorder(api.client, clock);
    recorder.record(newEvent);
    await vi.waitFor(() => expect(api.received).toHaveLength(1), waiting);
    recorder.record(newEvent);
    await vi.waitFor(async () => {
      await clock.advance(60_000);
      expect(api.received[1]).toMatchObject({ method: "PATCH", body: { series: { count: 2 } } });
    }, waiting);
  });
});
