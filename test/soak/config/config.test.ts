import { describe, expect, it } from "vitest";
import { FlagError } from "../../../lib/flags/flags.ts";
import { parseSoakConfig, stages } from "./config.ts";
import { parseHibernationConfig } from "./hibernation-config.ts";

describe("the command line of the soak test", () => {
  it("has all stages and ten minutes of traffic by default", () => {
    expect(parseSoakConfig([])).toEqual({ stages, seed: 1, short: false, trafficMs: 600_000 });
  });

  it("is short on request, with less traffic unless the minutes are given", () => {
    expect(parseSoakConfig(["--short"])).toMatchObject({ stages: ["sweep", "traffic"], trafficMs: 15_000 });
    expect(parseSoakConfig(["--short", "--minutes=2"])).toMatchObject({ short: true, trafficMs: 120_000 });
  });

  it("has the one stage that is named, also in a short run", () => {
    expect(parseSoakConfig(["--only=model"]).stages).toEqual(["model"]);
    expect(parseSoakConfig(["--short", "--only=model"]).stages).toEqual(["model"]);
  });

  it("rejects unknown stages, no minutes at all, and words that are no flags", () => {
    for (const args of [["--only=traffik"], ["--minutes=0"], ["traffic"]]) {
      expect(() => parseSoakConfig(args), args.join(" ")).toThrow(FlagError);
    }
  });
});

describe("the command line of the soak test of hibernation", () => {
  it("has a thousand cycles and kills nothing by default", () => {
    expect(parseHibernationConfig([])).toEqual({ cycles: 1_000, seed: 1, kills: false });
    expect(parseHibernationConfig(["--cycles=20", "--seed=7", "--kills"])).toEqual({
      cycles: 20,
      seed: 7,
      kills: true,
    });
  });

  it("rejects no cycles at all, unknown flags, and words that are no flags", () => {
    for (const args of [["--cycles=0"], ["--only=model"], ["traffic"]]) {
      expect(() => parseHibernationConfig(args), args.join(" ")).toThrow(FlagError);
    }
  });
});
