import { describe, expect, it } from "vitest";
import { FlagError, flag, formatDuration, HelpRequested, parseDurationMs, parseFlags, usage } from "./flags.ts";

const table = {
  name: flag.string("nova", "What it is called."),
  extensions: flag.boolean(false, "Whether to run the rest."),
  workers: flag.integer(100, "How many at once.", (workers) => (workers > 0 ? undefined : "must be above zero")),
  qps: flag.float(-1, "Requests a second; negative is unlimited."),
  grace: flag.duration(300_000, "How long to wait.", (graceMs) => (graceMs > 0 ? undefined : "must be above zero")),
};
const parse = (...args: string[]) => parseFlags(table, args);
const values = (...args: string[]) => parse(...args).values;

describe("a command line", () => {
  it("without flags means the defaults", () => {
    expect(values()).toEqual({ name: "nova", extensions: false, workers: 100, qps: -1, grace: 300_000 });
    expect([...parse().given]).toEqual([]);
  });

  it.each([["-workers=7"], ["--workers=7"], ["-workers", "7"], ["--workers", "7"]])("takes %s %s", (...args) => {
    expect(values(...args).workers).toBe(7);
  });

  it("takes the last of several", () => {
    expect(values("--workers=1", "--workers=2").workers).toBe(2);
  });

  it("lists the flags that were set, even to their defaults", () => {
    expect([...parse("--name=nova").given]).toEqual(["name"]);
  });

  it("keeps the text after the first equals sign, even if it is empty", () => {
    expect(values("--name=a=b").name).toBe("a=b");
    expect(values("--name=").name).toBe("");
  });

  it("accepts a separate value even if it starts like a flag", () => {
    expect(values("--name", "--extensions").name).toBe("--extensions");
  });
});

describe("reading stops", () => {
  it.each([
    { at: "--, which is dropped", args: ["--extensions", "--", "--workers=1"], rest: ["--workers=1"] },
    { at: "a single dash, which is kept", args: ["--extensions", "-", "--workers=1"], rest: ["-", "--workers=1"] },
    { at: "a word without a dash", args: ["--extensions", "run", "--workers=1"], rest: ["run", "--workers=1"] },
  ])("at $at", ({ args, rest }) => {
    const parsed = parse(...args);
    expect(parsed.values).toMatchObject({ extensions: true, workers: 100 });
    expect(parsed.rest).toEqual(rest);
  });
});

describe("a value", () => {
  it.each(["1", "t", "T", "true", "TRUE", "True"])("%s is true", (text) => {
    expect(values(`--extensions=${text}`).extensions).toBe(true);
  });

  it.each(["0", "f", "F", "false", "FALSE", "False"])("%s is false", (text) => {
    expect(values("--extensions", `--extensions=${text}`).extensions).toBe(false);
  });

  it("of a boolean is never the next word", () => {
    expect(parse("--extensions", "false")).toMatchObject({ values: { extensions: true }, rest: ["false"] });
  });

  it.each([
    ["-1.000000", -1],
    ["1e3", 1000],
    [".5", 0.5],
    ["2.", 2],
    ["+Inf", Number.POSITIVE_INFINITY],
    ["NaN", Number.NaN],
  ])("%s is a float", (text, value) => {
    expect(values(`--qps=${text}`).qps).toBe(value);
    expect(values("--qps", text).qps).toBe(value);
  });

  it.each([
    ["--workers=1.5", '--workers: "1.5" is not a valid integer'],
    ["--workers=", '--workers: "" is not a valid integer'],
    ["--workers=99999999999999999999", '--workers: "99999999999999999999" is not a valid integer'],
    ["--extensions=yes", '--extensions: "yes" is not a valid boolean'],
    ["--qps=many", '--qps: "many" is not a valid float'],
    ["--grace=5", '--grace: "5" is not a valid duration'],
  ])("%s is refused", (word, complaint) => {
    expect(() => parse(word)).toThrow(new FlagError(complaint));
  });

  it("that its flag does not allow is refused, and all complaints come together", () => {
    expect(() => parse("--workers=0", "--grace=0s", "--qps=x")).toThrow(
      new FlagError('--qps: "x" is not a valid float\n--workers: must be above zero\n--grace: must be above zero'),
    );
  });
});

describe("a mistake", () => {
  it.each(["--=x", "-=x", "---x", "---", "---workers=1"])("%s is bad flag syntax", (word) => {
    expect(() => parse(word)).toThrow(new FlagError(`bad flag syntax: ${word}`));
  });

  it.each(["--unknown", "--unknown=1", "--constructor", "--toString=1"])("%s is an unknown flag", (word) => {
    expect(() => parse(word)).toThrow(new FlagError(`unknown flag: ${word.split("=")[0]}`));
  });

  it("is a flag without its value", () => {
    expect(() => parse("--workers")).toThrow(new FlagError("flag needs a value: --workers"));
  });
});

describe("help", () => {
  it.each(["-h", "--help", "-help"])("is requested by %s", (word) => {
    expect(() => parse("--workers=1", word)).toThrow(HelpRequested);
  });

  it("lists each flag, its meaning and its default", () => {
    const lines = usage("rouse", table).split("\n");
    expect(lines[0]).toBe("Usage: rouse [flags]");
    expect(lines).toContain("  --extensions");
    expect(lines).toContain("  --grace duration");
    expect(lines).toContain("        How long to wait. (default 5m0s)");
  });
});

describe("a duration", () => {
  it.each([
    ["0", 0],
    ["0s", 0],
    ["500ms", 500],
    ["1.5s", 1_500],
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["-1s", -1_000],
    [".5h", 1_800_000],
    ["250us", 0.25],
    ["250µs", 0.25],
    ["250μs", 0.25],
    ["1000000ns", 1],
  ])("%s is %d ms", (text, durationMs) => {
    expect(parseDurationMs(text)).toBe(durationMs);
  });

  it.each(["", "5", "s", "1 s", "1d", "1h-3m", "one", "."])("%j is not a duration", (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  });

  it.each([
    [0, "0s"],
    [500, "500ms"],
    [2_500, "2.5s"],
    [300_000, "5m0s"],
    [5_400_000, "1h30m0s"],
    [3_600_000, "1h0m0s"],
    [-1_000, "-1s"],
  ])("of %d ms is written %s", (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });
});
