import { describe, expect, it } from "vitest";
import { type GuardedPlace, guarded, onUnexpectedError, reportUnexpected, runGuarded } from "./guard.ts";

const broken = new Error("broken");
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function listen() {
  const heard: [GuardedPlace, unknown][] = [];
  const listening = onUnexpectedError((where, error) => heard.push([where, error]));
  return { heard, [Symbol.dispose]: () => listening[Symbol.dispose]() };
}

describe("guarded work", () => {
  it("that throws is reported, and ends only its own connection or request", () => {
    using reports = listen();
    const ended: unknown[] = [];
    const work = () => {
      throw broken;
    };
    runGuarded("timer", work, (error) => ended.push(error));
    expect(reports.heard).toEqual([["timer", broken]]);
    expect(ended).toEqual([broken]);
  });

  it("whose promise rejects is reported, and ends only its own connection or request", async () => {
    using reports = listen();
    const ended: unknown[] = [];
    runGuarded(
      "page",
      () => Promise.reject(broken),
      (error) => ended.push(error),
    );
    await turn();
    expect(reports.heard).toEqual([["page", broken]]);
    expect(ended).toEqual([broken]);
  });

  it("that succeeds is not reported", async () => {
    using reports = listen();
    runGuarded("page", async () => "fine");
    runGuarded("page", () => "fine");
    await turn();
    expect(reports.heard).toEqual([]);
  });

  it("may fail again in its onFailure, which is reported too", () => {
    using reports = listen();
    const fail = () => {
      throw broken;
    };
    guarded("webhook", fail, fail)();
    expect(reports.heard).toEqual([
      ["webhook", broken],
      ["webhook", broken],
    ]);
  });

  it("as a handler gets the event's arguments, and so does onFailure", () => {
    using reports = listen();
    const seen: unknown[] = [];
    const handler = guarded(
      "drain",
      (connection: string, event: number) => {
        seen.push([connection, event]);
        throw broken;
      },
      (connection) => seen.push(connection),
    );
    handler("a connection", 7);
    expect(seen).toEqual([["a connection", 7], "a connection"]);
    expect(reports.heard).toHaveLength(1);
  });
});

describe("unexpected error", () => {
  it("is reported to every listener until the listener is disposed", () => {
    using first = listen();
    {
      using second = listen();
      reportUnexpected("queue", broken);
      expect(second.heard).toHaveLength(1);
    }
    reportUnexpected("queue", broken);
    expect(first.heard).toHaveLength(2);
  });
});
