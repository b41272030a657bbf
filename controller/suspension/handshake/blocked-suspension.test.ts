import { expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { BlockedReports, blockedSuspensionOf } from "./blocked-suspension.ts";

it("conditions that differ are reported once each, 250 at once and then 50 a second", async () => {
  const clock = new FakeClock();
  const reports = new BlockedReports(clock);
  for (let at = 0; at < 400; at += 1) reports.add(`default/box-${at}`);
  reports.drop("default/box-1");
  const notified: string[] = [];
  const report = () => {
    const before = notified.length;
    reports.report(
      (key) => key !== "default/box-2",
      (key) => notified.push(key),
      () => false,
    );
    return notified.length - before;
  };
  expect(report()).toBe(250);
  expect(report()).toBe(0);
  await clock.advance(1_000);
  expect(report()).toBe(50);
  await clock.advance(10_000);
  expect(report()).toBe(98);
  expect(report()).toBe(0);
  expect(new Set(notified).size).toBe(398);
  expect(notified).not.toContain("default/box-1");
  expect(notified).not.toContain("default/box-2");
});

it("conditions that are not reported before the time is over are in the next report", () => {
  const reports = new BlockedReports(new FakeClock());
  for (let at = 0; at < 20; at += 1) reports.add(`default/box-${at}`);
  const notified: string[] = [];
  const report = () =>
    reports.report(
      (key) => key !== "default/box-2",
      (key) => notified.push(key),
      () => notified.length % 5 === 0,
    );
  report();
  expect(notified).toHaveLength(5);
  for (let more = 0; more < 3; more += 1) report();
  expect(new Set(notified).size).toBe(19);
});

it("a sandbox that stays awake for its memory is blocked for that reason, before all others", () => {
  const memoryRefusal = { reason: "NoProvider", message: "the controller runs without --hibernation" } as const;
  const times = { recheckAtMs: 1, sleepsAtMs: 1, lastMs: 0 };
  const blocked = blockedSuspensionOf({ is: "awake", why: "", ...times, memoryRefusal, rejected: "no room" });
  const message =
    "Sandbox is not suspended for inactivity, because its memory cannot be kept: the controller runs without --hibernation";
  expect(blocked).toEqual({ is: "yes", reason: "MemoryNotKept", message });
});
