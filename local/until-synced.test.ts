import { expect, it } from "vitest";
import { FakeClock } from "../lib/time/clock.ts";
import { untilSynced } from "./until-synced.ts";

it("a start that takes long tells once what it waits for", async () => {
  const clock = new FakeClock();
  const told: (readonly string[])[] = [];
  const controller = Promise.withResolvers<void>();
  const programs = { kubelet: { synced: Promise.resolve() }, controller: { synced: controller.promise } };
  const done = untilSynced(programs, clock, (late) => told.push(late));
  await clock.advance(9_000);
  expect(told).toEqual([]);
  await clock.advance(60_000);
  expect(told).toEqual([["controller"]]);
  controller.resolve();
  await done;
});

it("a start that takes no longer than usual tells nothing", async () => {
  const clock = new FakeClock();
  const told: (readonly string[])[] = [];
  await untilSynced({ kubelet: { synced: Promise.resolve() } }, clock, (late) => told.push(late));
  await clock.advance(60_000);
  expect(told).toEqual([]);
});
