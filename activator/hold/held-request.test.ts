import { expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import { HeldRequest } from "./held-request.ts";
import { HoldDeadlines } from "./hold-deadlines.ts";

it("a held request that has ended has no deadline any more, and gives its slot back once", async () => {
  const clock = new FakeClock();
  const deps = {
    ...{ clock, holdDeadlines: new HoldDeadlines(clock), cluster: { sandbox: () => undefined } },
    options: { proxyTimeoutMs: 0 },
  };
  const client = { seenMs: 0, head: undefined, onLeave() {} };
  const over: string[] = [];
  const held = new HeldRequest(
    { to: { namespace: "default", name: "nova" }, client, deps } as never,
    { waitingFor: "its Pod", stuck: undefined, left: () => over.push("line") },
    { [Symbol.dispose]: () => over.push("slot") },
    { [Symbol.dispose]: () => over.push("record") },
  );
  expect(clock.pending).toBe(1);
  held.end(new ActivatorError("Draining"));
  await expect(held.reached).rejects.toMatchObject({ code: "Draining" });
  expect(clock.pending).toBe(0);
  await clock.advance(3_600_000);
  expect(over).toEqual(["record", "slot", "line"]);
});
