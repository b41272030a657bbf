import { describe, expect, it } from "vitest";
import { aPodOf, aSandbox, noon, readyStatus } from "../../../test/support/builders/builders.ts";
import { replyToRefusal } from "./activator-replies.ts";

const container = { name: "activator", ready: false, restartCount: 1, image: "", imageID: "" };
const running = { ...container, state: { running: {} } };
const ended = { ...container, state: { terminated: { exitCode: 137 } } };
const waiting = { ...container, state: { waiting: { reason: "CrashLoopBackOff" } } };

describe("an activator that refuses a connection", () => {
  const unready = { phase: "Running" } as const;

  it.each([
    { what: "ready, its container running", status: { ...readyStatus, containerStatuses: [running] }, is: "silent" },
    { what: "ready, its container ended", status: { ...readyStatus, containerStatuses: [ended] }, is: "absent" },
    { what: "ready, its container waiting", status: { ...readyStatus, containerStatuses: [waiting] }, is: "absent" },
    {
      what: "ready, another container ended",
      status: { ...readyStatus, containerStatuses: [running, { ...ended, name: "mesh" }] },
      is: "silent",
    },
    { what: "not ready", status: { ...unready, containerStatuses: [running] }, is: "absent" },
    { what: "not ready and terminating", status: { ...unready, containerStatuses: [running] }, at: noon, is: "silent" },
    {
      what: "terminating, its container ended",
      status: { ...unready, containerStatuses: [ended] },
      at: noon,
      is: "absent",
    },
  ])("is $is when it is $what", ({ status, at, is }) => {
    const pod = aPodOf(aSandbox(), at ? { deletionTimestamp: at } : {}, status);
    expect(replyToRefusal(pod, "activator", { forMs: 1_000, lostForMs: 0 }).is).toBe(is);
  });
});
