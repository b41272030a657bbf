import { describe, expect, it } from "vitest";
import { TimesWorld, text } from "../../../test/support/labs/times-world.ts";

describe("the last activity in the status", () => {
  it("is true after each suspension, also if the sandbox is never awake for a minute", async () => {
    await using world = new TimesWorld();
    for (let round = 0; round < 4; round += 1) {
      await world.start();
      await world.pass(4);
      await world.request();
      const last = world.now;
      await world.untilSuspended();
      expect(world.status).toEqual({ last, next: undefined });
    }
  });

  it("is written a minute after the last write, although nothing else happens", async () => {
    await using world = new TimesWorld({ inactivityTimeoutSeconds: 3_600 });
    await world.start();
    await world.pass(9);
    await world.request();
    const last = world.now;
    await world.pass(70);
    expect(world.status).toEqual({ last, next: text(11 + 3_600) });
    expect(world.writes).toHaveLength(2);
  });

  it("is at most a minute behind while the sandbox is in use, for at most one write a minute", async () => {
    await using world = new TimesWorld();
    await world.start();
    for (let request = 0; request < 150; request += 1) {
      await world.request(1 + (request % 7));
      await world.pass(1 + (request % 3));
      const behindMs = world.clock.now().getTime() - Date.parse(world.status.last ?? "");
      expect(behindMs).toBeLessThan(70_000);
    }
    // The first writes are of the start.
    const atSeconds = world.writes.slice(1).map((write) => write.atSeconds);
    const gaps = atSeconds.slice(1).map((second, index) => second - (atSeconds[index] ?? 0));
    expect(gaps.length).toBeGreaterThan(10);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(60);
  });

  it("has the end of a request that was reported after the suspension", async () => {
    await using world = new TimesWorld();
    await world.start();
    await world.untilSuspended();
    await world.request();
    const last = world.now;
    await world.pass(70);
    expect(world.status).toEqual({ last, next: undefined });
  });

  it("does not move back when everything that knew of it has restarted", async () => {
    await using world = new TimesWorld({ inactivityTimeoutSeconds: 3_600 });
    await world.start();
    await world.pass(300);
    await world.request();
    const last = world.now;
    await world.pass(70);
    await world.restartAll();
    await world.pass(70);
    world.edit();
    expect(world.status.last).toBe(last);
  });
});

describe("the next suspension in the status", () => {
  it("is right as soon as the Pod is Ready, although a slow start would be given more time", async () => {
    await using world = new TimesWorld();
    await world.start(10);
    expect(world.writes).toEqual([
      { atSeconds: 0, last: text(0), next: text(120) },
      { atSeconds: 10, last: text(10), next: text(40) },
    ]);
  });

  it("says keepAwakeUntil, also during requests, without a write for each", async () => {
    await using world = new TimesWorld({ keepAwakeUntil: text(3_600) });
    await world.start(10);
    for (let request = 0; request < 20; request += 1) {
      await world.request(5);
      expect(world.status.next).toBe(text(3_600));
      await world.pass(2);
    }
    expect(world.writes.length).toBeLessThanOrEqual(4);
  });
});

describe("the activity times in the status", () => {
  it("cost no pass and no write while the sandbox is unused, suspended or running", async () => {
    await using asleep = new TimesWorld();
    await asleep.start();
    await asleep.untilSuspended();
    await using awake = new TimesWorld({ keepAwakeUntil: text(36_000) });
    await awake.start();
    for (const world of [asleep, awake]) {
      await world.pass(130);
      const { passes } = world;
      await world.pass(3_600);
      expect(world.passes).toBe(passes);
    }
  });

  it("are requested once a minute if they cannot be written, and written when they can", async () => {
    await using world = new TimesWorld({ inactivityTimeoutSeconds: 3_600 });
    await world.start();
    await world.pass(60);
    world.apiAnswers = false;
    await world.request();
    const last = world.now;
    const { passes } = world;
    await world.pass(600);
    expect(world.passes - passes).toBeGreaterThanOrEqual(9);
    expect(world.passes - passes).toBeLessThanOrEqual(11);
    world.apiAnswers = true;
    await world.pass(60);
    expect(world.status).toEqual({ last, next: text(62 + 3_600) });
  });
});

it("a sandbox that stays awake for its memory takes no more writes, and sleeps soon after it can be kept", async () => {
  const suspensionStrategy = { type: "Hibernate", onFailure: "StayAwake" } as const;
  await using world = new TimesWorld({}, { suspensionStrategy });
  world.memoryRefusal = { reason: "NoProvider", message: "the controller runs without --hibernation" };
  await world.start();
  await world.pass(120);
  const { length } = world.writes;
  const { next } = world.status;
  expect(next).toBeDefined();
  expect(Date.parse(next ?? "")).toBeLessThan(Date.parse(world.now));
  await world.pass(3_600);
  expect(world.writes).toHaveLength(length);
  expect(world.status.next).toBe(next);
  world.memoryRefusal = undefined;
  await world.pass(20);
  expect(world.status.next).toBeUndefined();
});
