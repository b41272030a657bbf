import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { PortWaiters } from "./port-waiters.ts";

class ScriptedRoom {
  room = 0;
  readonly of = new Map<string, number>();
  looks = 0;

  roomIn(namespace: string): number {
    this.looks += 1;
    return this.of.get(namespace) ?? 0;
  }
}

function aWaitingRoom() {
  const clock = new FakeClock();
  const ledger = new ScriptedRoom();
  const called: string[] = [];
  const waiters = new PortWaiters(ledger, clock, (key) => called.push(key));
  return { clock, ledger, called, waiters };
}

describe("slices that lack activator ports", () => {
  it("are called in their order, as many as there is room for, and not before", async () => {
    const { clock, ledger, called, waiters } = aWaitingRoom();
    for (const key of ["lab/a", "other/b", "lab/c"]) waiters.wait(key, "range");
    ledger.of.set("lab", 5).set("other", 5);
    await clock.advance(3_600_000);
    expect(called).toEqual([]);
    ledger.room = 2;
    await clock.advance(1_000);
    expect(called).toEqual(["lab/a", "other/b"]);
    ledger.room = 0;
    await clock.advance(10_000);
    expect(called).toHaveLength(2);
  });

  it("of one namespace delay no other, and take no place of others while their namespace has no room", async () => {
    const { clock, ledger, called, waiters } = aWaitingRoom();
    for (let at = 0; at < 3_000; at += 1) waiters.wait(`greedy/${at}`, "range");
    for (let at = 0; at < 100; at += 1) waiters.wait(`full/${at}`, "range");
    waiters.wait("lab/a", "range");
    ledger.of.set("greedy", 5_000).set("lab", 5);
    ledger.room = 2;
    await clock.advance(1_000);
    expect(called).toEqual(["greedy/0", "lab/a"]);
  });

  it("wait without a look at each of them, and cost nothing when none waits", async () => {
    const { clock, ledger, waiters } = aWaitingRoom();
    for (let at = 0; at < 1_000; at += 1) waiters.wait(`lab/${at}`, "namespace");
    await clock.advance(60_000);
    expect(ledger.looks).toBe(60);
    for (let at = 0; at < 1_000; at += 1) waiters.settle(`lab/${at}`);
    expect(waiters.size).toBe(0);
    await clock.advance(60_000);
    expect(ledger.looks).toBe(60);
  });

  it("are not called for the room of others that were called and have not taken it yet", async () => {
    const { clock, ledger, called, waiters } = aWaitingRoom();
    for (const key of ["lab/a", "lab/b", "lab/c"]) waiters.wait(key, "range");
    ledger.of.set("lab", 5);
    ledger.room = 1;
    await clock.advance(5_000);
    expect(called).toEqual(["lab/a"]);
    // It was deleted: its room is the next one's.
    waiters.settle("lab/a");
    await clock.advance(1_000);
    expect(called).toEqual(["lab/a", "lab/b"]);
    // It found less than it needs, and goes to the end.
    waiters.wait("lab/b", "range");
    await clock.advance(1_000);
    expect(called).toEqual(["lab/a", "lab/b", "lab/c"]);
  });

  it("are called when their own namespace has room", async () => {
    const { clock, ledger, called, waiters } = aWaitingRoom();
    waiters.wait("lab/a", "namespace");
    waiters.wait("other/b", "namespace");
    waiters.wait("other/c", "namespace");
    waiters.wait("other/c", "range");
    ledger.of.set("other", 5);
    await clock.advance(5_000);
    expect(called).toEqual(["other/b"]);
    expect(waiters.size).toBe(2);
  });

  it("are called no more once the controller leads no more", async () => {
    const { clock, ledger, called, waiters } = aWaitingRoom();
    waiters.wait("lab/a", "range");
    waiters[Symbol.dispose]();
    ledger.room = 1;
    await clock.advance(60_000);
    expect(called).toEqual([]);
  });
});
