import { describe, expect, it } from "vitest";
import type { Seal } from "../../../api/rules/suspension.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { SealAges } from "./seal-ages.ts";

const seal: Seal = { podName: "nova", podUid: "pod-1", cause: "Person", at: noon };
const at = (seconds: number) => new Date(Date.parse(noon) + seconds * 1000);

describe("the age of a seal", () => {
  it("is the age by the seal's own time when a leader first sees it", () => {
    expect(new SealAges().ageMs("nova", seal, at(20), 5_000)).toBe(20_000);
  });

  it("is measured from then on, whatever is done to the clock", () => {
    const ages = new SealAges();
    ages.ageMs("nova", seal, at(1), 5_000);
    expect(ages.ageMs("nova", seal, at(3_600), 6_000)).toBe(2_000);
    expect(ages.ageMs("nova", seal, at(-3_600), 7_000)).toBe(3_000);
  });

  it("is never negative, though the clock of the writer was ahead", () => {
    expect(new SealAges().ageMs("nova", seal, at(-60), 0)).toBe(0);
  });

  it("restarts with another seal on the same Pod, on another Pod, and once the sandbox is forgotten", () => {
    const ages = new SealAges();
    ages.ageMs("nova", seal, at(0), 0);
    expect(ages.ageMs("nova", { ...seal, at: at(10).toISOString() }, at(10), 10_000)).toBe(0);
    expect(ages.ageMs("nova", { ...seal, podUid: "pod-2" }, at(1), 20_000)).toBe(1_000);
    ages.forget("nova");
    expect(ages.ageMs("nova", seal, at(30), 90_000)).toBe(30_000);
  });

  it("is remembered for so many sandboxes and one seal of each, whatever is written", () => {
    const ages = new SealAges();
    for (let second = 0; second < 50; second += 1)
      ages.ageMs("nova", { ...seal, at: at(second).toISOString() }, at(60), 0);
    expect(ages.size).toBe(1);
    for (let pod = 0; pod < 50; pod += 1) ages.ageMs("nova", { ...seal, podUid: `pod-${pod}` }, at(60), 0);
    expect(ages.size).toBe(1);
    for (let sandbox = 0; sandbox < 20_000; sandbox += 1) ages.ageMs(`nova-${sandbox}`, seal, at(60), 0);
    expect(ages.size).toBe(10_000);
  });
});
