import { describe, expect, it } from "vitest";
import type { Seal } from "../../../api/rules/suspension.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { SealAges } from "./seal-ages.ts";

const seal: Seal = { podName: "nova", podUid: "pod-1", cause: "Person", at: noon };
const at = (seconds: number) => new Date(Date.parse(noon) + seconds * 1000);

describe("the age of a seal", () => {
  it("begins when a leader first sees it, whatever its time says: the clock of its writer may be behind", () => {
    const ages = new SealAges();
    expect(ages.ageMs("nova", { ...seal, at: at(-3_600).toISOString() }, 5_000)).toBe(0);
    expect(ages.ageMs("nova", { ...seal, at: at(-3_600).toISOString() }, 8_000)).toBe(3_000);
  });

  it("restarts with another seal on the same Pod, on another Pod, and once the sandbox is forgotten", () => {
    const ages = new SealAges();
    ages.ageMs("nova", seal, 0);
    expect(ages.ageMs("nova", seal, 5_000)).toBe(5_000);
    expect(ages.ageMs("nova", { ...seal, at: at(10).toISOString() }, 10_000)).toBe(0);
    expect(ages.ageMs("nova", { ...seal, podUid: "pod-2" }, 20_000)).toBe(0);
    ages.forget("nova");
    expect(ages.ageMs("nova", seal, 90_000)).toBe(0);
  });

  it("is remembered for one seal of each sandbox, whatever is written", () => {
    const ages = new SealAges();
    for (let second = 0; second < 50; second += 1) ages.ageMs("nova", { ...seal, at: at(second).toISOString() }, 0);
    expect(ages.size).toBe(1);
    for (let pod = 0; pod < 50; pod += 1) ages.ageMs("nova", { ...seal, podUid: `pod-${pod}` }, 0);
    expect(ages.size).toBe(1);
  });

  it("counts on for every sandbox while more than ten thousand drain", () => {
    const ages = new SealAges();
    const read = (nowMs: number) =>
      Array.from({ length: 20_000 }, (_, index) => ages.ageMs(`nova-${index}`, seal, nowMs));
    expect(new Set(read(0))).toEqual(new Set([0]));
    expect(new Set(read(1_000))).toEqual(new Set([1_000]));
  });
});
