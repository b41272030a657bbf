import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { NewEvent } from "../../kube/events/event-recorder.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { SuspensionMetrics } from "../suspension/suspension-metrics.ts";
import { WakeReports } from "./wake-reports.ts";

function openReports() {
  const notes: string[] = [];
  const record = ({ note }: NewEvent) => void notes.push(note);
  const events = { record, [Symbol.asyncDispose]: async () => {} };
  const metrics = new SuspensionMetrics(new Registry());
  const sandbox = aSandbox();
  const clock = new FakeClock();
  const reports = new WakeReports({ read: () => ({ sandbox }), events, metrics, clock });
  const reported = (generation: number, agoMs: number) =>
    reports.reported("lab/nova", sandbox.metadata.uid, { generation, port: 8888, agoMs });
  return { clock, notes, reported };
}

it("each wake is reported once, for any number of reports by an activator", () => {
  const { notes, reported } = openReports();
  reported(2, 100);
  reported(2, 5_100);
  reported(4, 0);
  expect(notes).toEqual(["woken through port 8888", "woken through port 8888"]);
});

it("a new leader reports a wake that the former leader may have missed, and no older one", () => {
  const { notes, reported } = openReports();
  reported(2, 3_600_000);
  expect(notes).toEqual([]);
  reported(4, 20_000);
  expect(notes).toHaveLength(1);
});

it("a wake that an activator reports minutes later, because it did not respond, is reported", async () => {
  const { clock, notes, reported } = openReports();
  await clock.advance(400_000);
  reported(2, 390_000);
  expect(notes).toHaveLength(1);
  reported(4, 470_000);
  expect(notes).toHaveLength(1);
});
