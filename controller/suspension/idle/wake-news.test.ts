import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { NewEvent } from "../../../kube/events/event-recorder.ts";
import { aSandbox } from "../../../test/support/builders/builders.ts";
import { SuspensionMetrics } from "../suspension-metrics.ts";
import { WakeNews } from "./wake-news.ts";

function newsOf() {
  const told: string[] = [];
  const record = ({ note }: NewEvent) => void told.push(note);
  const events = { record, [Symbol.asyncDispose]: async () => {} };
  const metrics = new SuspensionMetrics(new Registry());
  const sandbox = aSandbox();
  const news = new WakeNews({ look: () => ({ sandbox }), events, metrics });
  const heard = (generation: number, agoMs: number) =>
    news.heard("lab/nova", sandbox.metadata.uid, { generation, port: 8888, agoMs });
  return { told, heard };
}

it("each wake is told once, however often an activator reports it", () => {
  const { told, heard } = newsOf();
  heard(2, 100);
  heard(2, 5_100);
  heard(4, 0);
  expect(told).toEqual(["woken by a connection to port 8888", "woken by a connection to port 8888"]);
});

it("a new leader tells of a wake that the former one may not have told of, and of none that it must have", () => {
  const { told, heard } = newsOf();
  heard(2, 3_600_000);
  expect(told).toEqual([]);
  heard(4, 20_000);
  expect(told).toHaveLength(1);
});
