import { expect, it } from "vitest";
import { slowStart } from "./slow-start.ts";

const never = new AbortController().signal;
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

/** How many calls were on their way at the same time, batch by batch. */
function countBatches() {
  const batches: number[] = [];
  let open = 0;
  return {
    batches,
    async call<T>(item: T): Promise<T> {
      if (open === 0) batches.push(0);
      open += 1;
      batches.push((batches.pop() ?? 0) + 1);
      await Promise.resolve();
      open -= 1;
      return item;
    },
  };
}

it("goes from one to many, and the rest is the last batch", async () => {
  const { batches, call } = countBatches();
  const { done, undone } = await slowStart(numbers(14), call, never);
  expect(batches).toEqual([1, 2, 4, 7]);
  expect(done).toEqual(numbers(14));
  expect(undone).toBe(0);
});

it("ends with the batch in which a call fails, and returns the successes and the first failure", async () => {
  const { batches, call } = countBatches();
  const failing = async (item: number) => {
    await call(item);
    if (item === 4 || item === 5) throw new Error(`no ${item}`);
    return item;
  };
  expect(await slowStart(numbers(20), failing, never)).toEqual({
    done: [0, 1, 2, 3, 6],
    undone: 15,
    error: new Error("no 4"),
  });
  expect(batches).toEqual([1, 2, 4]);
});

it("starts no batch once it is to stop", async () => {
  const stop = new AbortController();
  const call = async (item: number) => {
    if (item === 1) stop.abort();
    return item;
  };
  expect(await slowStart(numbers(20), call, stop.signal)).toEqual({ done: [0, 1, 2], undone: 17 });
});

it("does nothing for nothing", async () => {
  expect(await slowStart([], async () => {}, never)).toEqual({ done: [], undone: 0 });
});
