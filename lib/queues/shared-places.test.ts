import { describe, expect, it } from "vitest";
import { SharedPlaces } from "./shared-places.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));
const nothing = new AbortController().signal;

/** Ten places, two of which are the last ones. */
function given() {
  const places = new SharedPlaces(10, 2);
  const held: { readonly group: string; readonly place: Disposable }[] = [];
  return {
    async ask(group: string, count = 1, signal = nothing) {
      for (let at = 0; at < count; at += 1)
        places.take(group, signal).then(
          (place) => void held.push({ group, place }),
          () => {},
        );
      await settled();
    },
    async leave(group: string) {
      const at = held.findIndex((one) => one.group === group);
      for (const { place } of at < 0 ? [] : held.splice(at, 1)) place[Symbol.dispose]();
      await settled();
    },
    of: (group: string) => held.filter((one) => one.group === group).length,
    groups: () => held.map(({ group }) => group),
    take: (group: string, signal: AbortSignal) => places.take(group, signal),
  };
}

describe("a group that asks for more places than there are", () => {
  it("gets all but the last ones, of which the next groups get some at once", async () => {
    const { ask, of } = given();
    await ask("crowd", 100);
    expect(of("crowd")).toBe(8);
    await ask("second", 100);
    await ask("third", 100);
    expect([of("crowd"), of("second"), of("third")]).toEqual([8, 1, 1]);
  });

  it("gets each place that it gives back, and none that another one needs", async () => {
    const { ask, of, leave } = given();
    await ask("crowd", 12);
    await leave("crowd");
    expect(of("crowd")).toBe(8);
    for (let left = 11; left > 0; left -= 1) await leave("crowd");
    expect(of("crowd")).toBe(0);
    await ask("other", 100);
    expect(of("other")).toBe(8);
  });

  it("takes turns with the others that wait", async () => {
    const { ask, leave, groups } = given();
    for (const group of [...Array<string>(8).fill("crowd"), "x", "y"]) await ask(group);
    await ask("a", 2);
    await ask("b", 2);
    for (let left = 4; left > 0; left -= 1) await leave("crowd");
    expect(groups().slice(-3)).toEqual(["a", "b", "a"]);
  });
});

it("who no longer waits for a place gets none, and others get it", async () => {
  const { ask, of, leave, take } = given();
  const stop = new AbortController();
  await ask("crowd", 8);
  await ask("crowd", 1, stop.signal);
  await ask("crowd", 1);
  stop.abort(new Error("no longer wanted"));
  await leave("crowd");
  expect(of("crowd")).toBe(8);
  await leave("crowd");
  expect(of("crowd")).toBe(7);
  await expect(take("other", stop.signal)).rejects.toThrow("no longer wanted");
});
