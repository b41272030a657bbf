import { describe, expect, it, vi } from "vitest";
import { createLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { type Followed, follow, shownIn } from "../../test/support/fakes/followed-informer.ts";
import { aFailure } from "../../test/support/fakes/scripted-api.ts";
import {
  aStored,
  openScriptedCollection,
  type ScriptedCollection,
} from "../../test/support/fakes/scripted-collection.ts";
import { waiting } from "../../test/support/waiting.ts";

const expired = aFailure(410, "Expired");

describe("an informer with an expired version", () => {
  /**
   * Changes objects while the informer is disconnected: a is deleted, b changed, c unchanged, d replaced, e created.
   */
  async function changeBehindItsBack(pods: ScriptedCollection, followed: Followed, how: () => Promise<void>) {
    await followed.informer.synced;
    pods.items = [aStored("b", "12"), aStored("c", "3"), aStored("d", "13", "another-d"), aStored("e", "14")];
    pods.version = "14";
    await how();
    await vi.waitFor(() => expect(followed.reported).toHaveLength(9), waiting);
  }
  const before = [aStored("a", "1"), aStored("b", "2"), aStored("c", "3"), aStored("d", "4")];
  const difference = ["-a@1", "~b@12", "-d@4", "+d@13", "+e@14"];

  it("reports exactly the difference after a watch is answered with 410 Gone", async () => {
    await using pods = await openScriptedCollection();
    pods.items = before;
    await using followed = follow(pods.client);
    await changeBehindItsBack(pods, followed, async () => {
      const first = await pods.watch(0);
      pods.watchFailure = expired;
      first.drop();
      await vi.waitFor(() => expect(pods.watchAttempts.length).toBeGreaterThan(1), waiting);
      pods.watchFailure = undefined;
    });
    expect(followed.reported.slice(4)).toEqual(difference);
    expect((await pods.watch(1)).query["resourceVersion"]).toBe("14");
  });

  it.each([
    { what: "410 Expired", failure: expired },
    { what: "a version that the server calls too large", failure: aFailure(504, "Timeout") },
  ])("reports exactly the difference after an ERROR event with $what", async ({ failure }) => {
    await using pods = await openScriptedCollection();
    pods.items = before;
    await using followed = follow(pods.client);
    await changeBehindItsBack(pods, followed, async () => (await pods.watch(0)).send("ERROR", failure));
    expect(followed.reported.slice(4)).toEqual(difference);
    expect(shownIn(followed).sort()).toEqual(["b@12", "c@3", "d@13", "e@14"]);
  });

  it("lists within a second of the end of a 20 s outage, also when the version has expired", async () => {
    const clock = new FakeClock();
    await using pods = await openScriptedCollection();
    const failures: string[] = [];
    const log = createLogger("informer", "warn", { write: (line) => void failures.push(line) });
    await using followed = follow(pods.client, { clock, log });
    const first = await pods.watch(0);
    pods.watchFailure = aFailure(503, "ServiceUnavailable");
    first.drop();
    const away = () => clock.ticksMs() >= 20_000;
    while (!away()) {
      const attempts = pods.watchAttempts.length;
      await vi.waitFor(() => expect(clock.pending).toBe(1), waiting); // the pause
      await clock.advance(50);
      if (clock.pending === 0)
        await vi.waitFor(() => expect(pods.watchAttempts.length).toBeGreaterThan(attempts), waiting);
    }
    // Each attempt has failed, and is reported before the pause after it.
    await vi.waitFor(() => expect(failures).toHaveLength(pods.watchAttempts.length), waiting);
    pods.watchFailure = expired;
    pods.items = [aStored("a", "9")];
    await clock.advance(1_000);
    await vi.waitFor(() => expect(followed.reported).toEqual(["+a@9"]), waiting);
  });

  it("does not list in a tight circle when every watch answers 410", async () => {
    const clock = new FakeClock();
    await using pods = await openScriptedCollection();
    pods.watchFailure = expired;
    await using _followed = follow(pods.client, { clock });
    for (let round = 1; round <= 6; round += 1) {
      // The first list after a successful one needs no pause. A watch has a timer too, so time advances after it has
      // failed.
      await vi.waitFor(() => expect(pods.watchAttempts).toHaveLength(round + 1), waiting);
      await vi.waitFor(() => expect(clock.pending).toBe(1), waiting); // the pause
      expect(pods.lists).toHaveLength(round + 1);
      await clock.advance(Math.min(100 * 2 ** round, 1_000));
    }
  });
});
