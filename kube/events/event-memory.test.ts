import { expect, it } from "vitest";
import { heapBytesOf } from "../../test/support/heap-bytes.ts";
import { ApiError } from "../client/errors.ts";
import { EventSeries } from "./event-series.ts";

const megabyte = 1_048_576;
const status = { apiVersion: "v1", kind: "Status", code: 422 } as const;
/** As it comes from a connection: a text in one piece. */
const longText = (): string => JSON.parse(`"${"x".repeat(megabyte)}"`);

it("series keep the notes of their events, and not the messages that these were cut from", async () => {
  const series = new EventSeries({ reportingController: "sandbox-controller", reportingInstance: "pod-1" });
  const bytes = await heapBytesOf(() => {
    for (let number = 0; number < 100; number += 1) {
      const regarding = { kind: "Sandbox", metadata: { namespace: "team", name: `s-${number}`, uid: `u-${number}` } };
      const event = { regarding, type: "Warning", reason: "Failed", action: "Reconciling", note: longText() } as const;
      series.add(event, { now: new Date(), ticksMs: 0 });
    }
  });
  expect(series.unwritten()).toHaveLength(100);
  expect(bytes).toBeLessThan(2 * megabyte);
});

it("an error of the API server keeps a bounded part of its message", async () => {
  const errors: ApiError[] = [];
  const bytes = await heapBytesOf(() => {
    for (let number = 0; number < 50; number += 1) errors.push(new ApiError(422, { ...status, message: longText() }));
  });
  expect(bytes).toBeLessThan(10 * megabyte);
  expect(errors[7]?.message).toHaveLength(65_536);
  expect(errors[7]?.status.message).toBe(errors[7]?.message);
});
