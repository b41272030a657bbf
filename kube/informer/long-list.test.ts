import { expect, it, vi } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { nextTurn } from "../../lib/time/yielding.ts";
import { follow } from "../../test/support/fakes/followed-informer.ts";
import { aFailure } from "../../test/support/fakes/scripted-api.ts";
import { aStored, openScriptedCollection } from "../../test/support/fakes/scripted-collection.ts";
import { waiting } from "../../test/support/waiting.ts";

/** A write before the list. */
const atFirst = { atMs: -1, version: undefined };

it("a long list is stored in pieces of a turn of the event loop, and counts once all of it is there", async () => {
  const clock = new FakeClock();
  await using pods = await openScriptedCollection();
  pods.listFailure = aFailure(503, "ServiceUnavailable");
  pods.items = Array.from({ length: 200 }, (_, at) => aStored(`pod-${at}`, "1"));
  await using followed = follow(pods.client, {
    clock,
    transform: (object) => {
      clock.standStill(0.5);
      return object;
    },
  });
  const { informer } = followed;
  const { store } = informer;
  await vi.waitFor(() => expect(informer.trouble()).toMatchObject({ is: "failed" }), waiting);
  pods.listFailure = undefined;
  await clock.advance(1_000);
  const sizes = new Set<number>();
  const counts = new Set<boolean>();
  while (store.size < 200) {
    await nextTurn();
    sizes.add(store.size);
    if (store.size < 200) counts.add(informer.hasSeen(atFirst) || informer.trouble() === undefined);
  }
  await informer.synced;
  expect([...sizes].filter((size) => size > 0)).toEqual([64, 128, 192, 200]);
  expect([...counts]).toEqual([false]);
  expect([informer.hasSeen(atFirst), informer.trouble()]).toEqual([true, undefined]);
});
