import { describe, expect, it } from "vitest";
import type { RequestHead } from "../request.ts";
import { IgnoredInLine } from "./ignored-in-line.ts";

/** A held request that counts how often its head is read. */
class Waiter {
  reads = 0;
  readonly #target: string;

  constructor(target: string) {
    this.#target = target;
  }

  get head(): RequestHead {
    this.reads += 1;
    return {
      method: "GET",
      protocol: "HTTP/1.1",
      target: this.#target,
      host: "",
      headers: [],
      peer: "",
      upgrade: false,
    };
  }
}

const specOf = (pathPrefix: string, operatingMode: "Running" | "Suspended" = "Suspended") => ({
  ...{ operatingMode, autoSuspension: { ignoreRequests: [{ pathPrefix }] } },
  podTemplate: { spec: { containers: [] } },
});

function given(targets: readonly string[]) {
  const line = new Set(targets.map((target) => new Waiter(target)));
  const ignored = new IgnoredInLine<Waiter>(line);
  for (const waiter of line) ignored.joined(waiter);
  const found: Waiter[] = [];
  const find = async (spec: ReturnType<typeof specOf>) => ignored.find(spec, (waiter) => found.push(waiter));
  return { line, ignored, found, find, reads: () => [...line].map(({ reads }) => reads) };
}

describe("held requests that must not wake their sandbox", () => {
  it("are matched once, however often the sandbox changes, and again when the rules or the mode change", async () => {
    const { found, find, reads, line } = given(["/health", "/work"]);
    await find(specOf("/health"));
    expect(found).toEqual([[...line][0]]);
    for (let n = 0; n < 10; n += 1) await find(specOf("/health"));
    expect(reads()).toEqual([1, 1]);
    await find(specOf("/other"));
    expect(reads()).toEqual([2, 2]);
    await find(specOf("/other", "Running"));
    await find(specOf("/other"));
    expect(reads()).toEqual([3, 3]);
  });

  it("are matched when they join later, and not when they have left", async () => {
    const { found, find, line, ignored } = given([]);
    await find(specOf("/health"));
    const [stays, leaves] = [new Waiter("/health"), new Waiter("/health")];
    for (const waiter of [stays, leaves]) {
      line.add(waiter);
      ignored.joined(waiter);
    }
    line.delete(leaves);
    ignored.left(leaves);
    await find(specOf("/health"));
    expect(found).toEqual([stays]);
  });

  it("are matched over several turns of the event loop, if they are many", async () => {
    const { find, reads } = given(Array.from({ length: 1_000 }, () => "/work"));
    const finding = find(specOf("/health"));
    expect(reads().reduce((sum, each) => sum + each)).toBeLessThan(100);
    await finding;
    expect(reads().every((each) => each === 1)).toBe(true);
  });
});
