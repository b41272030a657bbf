import { expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { startEventExpiry } from "./event-expiry.ts";
import { Storage } from "./storage.ts";

it("beyond 5,000 events the oldest are removed at the next check", async () => {
  const clock = new FakeClock();
  const storage = new Storage();
  await using _expiry = startEventExpiry(storage, clock, silentLogger);
  for (let at = 0; at < 5_002; at += 1) {
    const metadata = { name: `e${at}`, namespace: "default", uid: `u${at}`, creationTimestamp: "2026-01-01T00:00:00Z" };
    storage.put("events", { metadata });
  }
  await clock.advance(59_999);
  expect(storage.size("events")).toBe(5_002);
  await clock.advance(1);
  expect(storage.size("events")).toBe(5_000);
  expect(storage.oldest("events")?.object.metadata.name).toBe("e2");
});
