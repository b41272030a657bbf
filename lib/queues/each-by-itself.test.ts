import { expect, it, vi } from "vitest";
import { silentLogger } from "../log/log.ts";
import { FakeClock } from "../time/clock.ts";
import { eachByItself } from "./each-by-itself.ts";

it("an object that cannot be read is logged once a minute by its key, and the others are read", async () => {
  const clock = new FakeClock();
  const error = vi.fn();
  const read = (key: string): string => {
    if (key === "lab/odd") throw new RangeError("Maximum call stack size exceeded");
    return `use of ${key}`;
  };
  const useOf = eachByItself(read, "could not read a sandbox", { clock, log: { ...silentLogger, error } });
  expect([useOf("lab/odd"), useOf("lab/odd"), useOf("lab/nova")]).toEqual([undefined, undefined, "use of lab/nova"]);
  expect(error.mock.calls.map(([{ key }]) => key)).toEqual(["lab/odd"]);
  await clock.advance(60_000);
  useOf("lab/odd");
  expect(error).toHaveBeenCalledTimes(2);
});
