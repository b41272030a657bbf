import { describe, expect, it } from "vitest";
import { onUnexpectedError } from "./guard.ts";
import { onAbort } from "./on-abort.ts";

describe("a listener of an abort", () => {
  it("that throws is reported, and the other listeners hear the abort all the same", () => {
    const heard: unknown[] = [];
    using _reports = onUnexpectedError((where, error) => heard.push([where, error]));
    const broken = new Error("broken");
    const stop = new AbortController();
    onAbort(stop.signal, () => {
      throw broken;
    });
    onAbort(stop.signal, () => heard.push("the other"));
    stop.abort();
    expect(heard).toEqual([["abort-listener", broken], "the other"]);
  });

  it("is not called once it is disposed of", () => {
    const stop = new AbortController();
    let calls = 0;
    {
      using _listening = onAbort(stop.signal, () => calls++);
    }
    stop.abort();
    expect(calls).toBe(0);
  });
});
