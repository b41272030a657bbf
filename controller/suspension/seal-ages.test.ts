import { describe, expect, it } from "vitest";
import type { Seal } from "../../api/suspension.ts";
import { noon } from "../../test/support/builders.ts";
import { SealAges } from "./seal-ages.ts";

const seal: Seal = { podName: "nova", podUid: "pod-1", cause: "Person", at: noon };
const at = (seconds: number) => new Date(Date.parse(noon) + seconds * 1000);

describe("the age of a seal", () => {
  it("is what the seal tells when it is first seen, by whoever leads then", () => {
    expect(new SealAges().ageMs(seal, at(20), 5_000)).toBe(20_000);
  });

  it("is measured from then on, whatever is done to the clock", () => {
    const ages = new SealAges();
    ages.ageMs(seal, at(1), 5_000);
    expect(ages.ageMs(seal, at(3_600), 6_000)).toBe(2_000);
    expect(ages.ageMs(seal, at(-3_600), 7_000)).toBe(3_000);
  });

  it("is never negative, though the clock of the writer was ahead", () => {
    expect(new SealAges().ageMs(seal, at(-60), 0)).toBe(0);
  });

  it("begins anew with another seal on the same Pod, and once the Pod is forgotten", () => {
    const ages = new SealAges();
    ages.ageMs(seal, at(0), 0);
    expect(ages.ageMs({ ...seal, at: at(10).toISOString() }, at(10), 10_000)).toBe(0);
    ages.forget("pod-1");
    expect(ages.ageMs(seal, at(30), 90_000)).toBe(30_000);
  });
});
