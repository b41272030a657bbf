import { describe, expect, it, vi } from "vitest";
import type { KubeObject } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import { abortable } from "../../lib/process/lifecycle.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import type { ClockReading } from "../../lib/time/clock-jumps.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { follow } from "../../test/support/fakes/followed-informer.ts";
import { openScriptedCollection } from "../../test/support/fakes/scripted-collection.ts";
import { waiting } from "../../test/support/waiting.ts";
import type { KubeClient, WatchEvent, WatchOptions, WatchReading } from "../client/client.ts";
import { ApiUnreachable } from "../client/errors.ts";
import { acceptedAfterMs } from "./start-informer.ts";
import { beatMs } from "./watch-monitor.ts";

/** An informer whose watches are in the hands of the test: what arrives, and when it is handled. */
async function openQueued() {
  const clock = new FakeClock();
  await using stack = new AsyncDisposableStack();
  const pods = stack.use(await openScriptedCollection());
  const readings: WatchReading[] = [];
  let next = Promise.withResolvers<WatchEvent<KubeObject>>();
  let version = 1;
  const client: KubeClient = {
    ...pods.client,
    async *watch<T extends KubeObject>(_: ResourceType<T>, options: WatchOptions, signal: AbortSignal) {
      options.onOpen?.();
      if (options.reading) readings.push(options.reading);
      for (;;) {
        const handled = abortable(next.promise, signal).finally(() => {
          next = Promise.withResolvers();
        });
        yield (await handled) as WatchEvent<T>;
      }
    },
  };
  const { informer } = stack.use(follow(client, { clock }));
  /** Handles a bookmark of the next version. */
  const handle = async (sentSince: ClockReading) => {
    version += 1;
    next.resolve({ type: "BOOKMARK", object: { metadata: { resourceVersion: String(version) } }, sentSince });
    await clock.advance(0);
  };
  const opened = () => readings.length;
  const breakOff = () => next.reject(new ApiUnreachable("the connection broke"));
  /** How the watch that was opened as number `index` is read. */
  const readingOf = (index: number) =>
    vi.waitFor(() => {
      const reading = readings[index];
      if (!reading) throw new Error(`watch ${index} was not opened`);
      return reading;
    }, waiting);
  await readingOf(0);
  const own = stack.move();
  return { clock, informer, readingOf, opened, handle, breakOff, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

describe("events of a watch that wait to be handled", () => {
  it("are as old as their arrival, however late they are handled", async () => {
    await using queued = await openQueued();
    const { clock, informer, handle } = queued;
    const reading = await queued.readingOf(0);
    const first = reading.arrived();
    await clock.advance(2 * beatMs);
    const written = { atMs: clock.ticksMs() - 1, version: undefined };
    const second = reading.arrived();
    await clock.advance(2 * beatMs);
    await handle(first);
    expect([informer.silentMs(), informer.hasSeen(written)]).toEqual([4 * beatMs, false]);
    await handle(second);
    expect([informer.silentMs(), informer.hasSeen(written)]).toEqual([2 * beatMs, true]);
  });

  it("show no sign of the server before they are handled", async () => {
    await using queued = await openQueued();
    const { clock, informer, handle, breakOff } = queued;
    await clock.advance(10 * beatMs);
    breakOff();
    await asTimePasses(clock, () => expect(queued.opened()).toBe(2));
    const reading = await queued.readingOf(1);
    const first = reading.arrived();
    await clock.advance(acceptedAfterMs + beatMs);
    expect(informer.silentMs()).toBe(clock.ticksMs());
    await handle(first);
    expect(informer.silentMs()).toBe(clock.ticksMs() - first.ticksMs);
  });

  it("are as old as the pause of the reading, until a beat after which nothing was left unread", async () => {
    await using queued = await openQueued();
    const { clock } = queued;
    const reading = await queued.readingOf(0);
    await clock.advance(beatMs + 1);
    reading.paused(true);
    await clock.advance(10 * beatMs);
    reading.paused(false);
    const ages = [];
    for (let beats = 0; beats <= 3; beats += 1) {
      ages.push(reading.arrived().ticksMs / beatMs);
      await clock.advance(beatMs);
    }
    expect(ages).toEqual([1, 1, 13, 14]);
  });

  it("keep the date of before, where the reading pauses for a moment between two beats", async () => {
    await using queued = await openQueued();
    const { clock } = queued;
    const reading = await queued.readingOf(0);
    await clock.advance(beatMs + 1);
    reading.paused(true);
    reading.paused(false);
    await clock.advance(beatMs);
    expect(reading.arrived().ticksMs).toBe(beatMs);
    await clock.advance(beatMs);
    expect(reading.arrived().ticksMs).toBe(3 * beatMs);
  });
});
