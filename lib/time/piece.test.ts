import { expect, it } from "vitest";
import { FakeClock } from "./clock.ts";
import { piecesFromNow } from "./piece.ts";

/** How many of these items, each of which takes so long, are in each piece. */
async function piecesOf(count: number, eachMs: number): Promise<readonly number[]> {
  const clock = new FakeClock();
  const rest = piecesFromNow(clock);
  const pieces = [0];
  for (let item = 0; item < count; item += 1) {
    pieces.push((pieces.pop() ?? 0) + 1);
    clock.standStill(eachMs);
    const resting = rest();
    if (!resting) continue;
    await resting;
    pieces.push(0);
  }
  return pieces;
}

it("a piece ends after 15 ms, but has 64 items at least", async () => {
  expect(await piecesOf(200, 0.125)).toEqual([120, 80]);
  expect(await piecesOf(130, 0.5)).toEqual([64, 64, 2]);
});

it("a piece of items that take long ends after 50 ms, whatever their number", async () => {
  expect(await piecesOf(5, 20)).toEqual([3, 2]);
  expect(await piecesOf(3, 900)).toEqual([1, 1, 1, 0]);
});
