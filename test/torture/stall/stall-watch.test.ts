import { Socket } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { StallWatch } from "./stall-watch.ts";

afterEach(() => void vi.useRealTimers());

it("a connection that stands still gets the state of things, which is not printed at once", async () => {
  vi.useFakeTimers();
  const looks: Socket[] = [];
  using watch = new StallWatch(async (socket) => {
    looks.push(socket);
    return "the sockets";
  });
  const socket = new Socket();
  const states: string[] = [];
  using _watched = watch.watch(socket, (state) => states.push(state));
  await vi.advanceTimersByTimeAsync(45_000);
  expect(looks).toEqual([]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(looks).toEqual([socket]);
  expect(states).toEqual(["the sockets"]);
});
