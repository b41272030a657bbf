import { existsSync, readFileSync } from "node:fs";
import { basename, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { activatorFlags } from "../activator/config/flags.ts";
import { autoResumeDefaults, autoSuspensionDefaults } from "../api/rules/defaults.ts";
import { controllerFlags } from "../controller/config/controller-flags.ts";
import { localFlags } from "../local/config.ts";
import { agentFlags } from "../node/agent/config/agent-flags.ts";
import { projectFiles } from "./support/project-files.ts";

// Compares docs/limits.md with the code: each value with the flag, the field or the constant that sets it.

const page = readFileSync("docs/limits.md", "utf8");
const rows = page.split("\n").filter((line) => line.startsWith("| ") && !/^\| (---|What waits|Input) /.test(line));

/** The factor from each unit to milliseconds or bytes. */
const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  KiB: 1_024,
  MiB: 1_024 ** 2,
};

const fields: Readonly<Record<string, number>> = {
  "autoResume.timeoutSeconds": autoResumeDefaults.timeoutSeconds * 1_000,
  "autoSuspension.drainTimeoutSeconds": autoSuspensionDefaults.drainTimeoutSeconds * 1_000,
  "autoSuspension.unansweredLimitSeconds": autoSuspensionDefaults.unansweredLimitSeconds * 1_000,
  "autoSuspension.busyProbe.limitSeconds": autoSuspensionDefaults.busyProbeLimitSeconds * 1_000,
};

const flags = new Map(
  [localFlags, agentFlags, activatorFlags, controllerFlags]
    .flatMap(Object.entries)
    .map(([name, spec]) => [`--${name}`, spec]),
);

interface Stated {
  readonly value: number;
  /** A flag, a field, or a constant of the files of the row. */
  readonly name: string;
  readonly row: string;
}

const stated: readonly Stated[] = rows.flatMap((row) =>
  [...row.matchAll(/(\d[\d,]*) ?(ms|s|min|h|KiB|MiB)? ?\((?:\d+ \w+, )?`([^`]+)`\)/g)].map(
    ([, digits = "", unit, name = ""]) => ({
      value: Number(digits.replaceAll(",", "")) * (unit === undefined ? 1 : (units[unit] ?? Number.NaN)),
      name,
      row,
    }),
  ),
);

const filesOf = (row: string): readonly string[] =>
  [...row.matchAll(/\]\((\.\.\/[^)#]+\.(?:ts|go))\)/g)].map(([, path = ""]) => normalize(join("docs", path)));

const sourcesOf = (row: string) => filesOf(row).filter((file) => !/\.test\.ts$|_test\.go$/.test(file));

/** The values that a source gives to a name: `name = 5 * 60_000`, `name: 30_000`, and in Go `name = 5 * time.Second`. */
function valuesIn(source: string, name: string): readonly number[] {
  const inNumbers = source.replaceAll("time.Millisecond", "1").replaceAll("time.Second", "1_000");
  const given = inNumbers.matchAll(new RegExp(`\\b${name}(?:: [\\w<>]+)?(?: =|:) ([\\d_]+(?: \\*\\*? [\\d_]+)*)`, "g"));
  return [...given].map(([, terms = ""]) =>
    terms.split(" * ").reduce((product, term) => product * Number(term.replaceAll("_", "")), 1),
  );
}

function wrong({ value, name, row }: Stated): string[] {
  const mismatch = `${name}: ${value}: ${row.slice(0, 60)}`;
  if (name.startsWith("--")) return flags.get(name)?.default === value ? [] : [mismatch];
  if (name.includes(".")) return fields[name] === value ? [] : [mismatch];
  const values = sourcesOf(row).flatMap((file) => valuesIn(readFileSync(file, "utf8"), name));
  return values.includes(value) ? [] : [mismatch];
}

/** Files that wait for a time but have no row, with the reason. */
const notListed: Readonly<Record<string, string>> = {
  "lib/time/clock.ts": "the clock itself",
  "lib/time/notifiable-wait.ts": "a wait of a length that its caller gives",
  "activator/sandbox/change-signal.ts": "a wait of a length that its caller gives",
  "cluster/machine/cgroup.ts": "the cluster for tests of this project",
  "cluster/daemon.ts": "the cluster for tests of this project",
  "cluster/demo/demonstration.ts": "the cluster for tests of this project",
  "cluster/wait.ts": "the cluster for tests of this project",
};

const sources = projectFiles()
  .filter((file) => /^(lib|api|kube|controller|activator|node|local|scripts\/migrate|cluster)\/.*\.ts$/.test(file))
  .filter((file) => !/\.test\.ts$|\/(bench|proof|schedules)\//.test(file));

const waits = /\b(c|systemC)lock\.(after|sleep)\(|AbortSignal\.timeout\(|setTimeout\(/;

describe("the page of limits", () => {
  it("has the values of the flags, the fields and the constants", () => {
    expect(stated.length).toBeGreaterThan(150);
    expect(stated.flatMap(wrong)).toEqual([]);
  });

  it("names only flags that exist, and each flag that is a duration", () => {
    const named = new Set([...page.matchAll(/`(--[\w-]+)`/g)].map(([, name = ""]) => name));
    const ofLocalMode = ["--allowed-hosts"];
    expect([...named].filter((name) => !flags.has(name) && !ofLocalMode.includes(name))).toEqual([]);
    const durations = [...flags].filter(([, { kind }]) => kind === "duration").map(([name]) => name);
    expect(durations.filter((name) => !named.has(name))).toEqual([]);
  });

  it("has a source in each row, and a test or none, and all of these files exist", () => {
    expect(rows.filter((row) => sourcesOf(row).length === 0)).toEqual([]);
    expect(rows.filter((row) => !/\.test\.ts\)|_test\.go\)|\| none \|$|\| \|$/.test(row))).toEqual([]);
    expect(rows.flatMap(filesOf).filter((file) => !existsSync(file))).toEqual([]);
  });

  it("names each source by its file, in words", () => {
    const plain = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
    const named = rows.flatMap((row) => [...row.matchAll(/\[([^\]]+)\]\((\.\.\/[^)#]+\.ts)\)/g)]);
    const sources = named.filter(([, , path = ""]) => !path.endsWith(".test.ts"));
    expect(sources.length).toBeGreaterThan(150);
    const others = sources.filter(([, text = "", path = ""]) => !plain(text).endsWith(plain(basename(path, ".ts"))));
    expect(others.map(([link]) => link)).toEqual([]);
  });

  it("has a row for each file that waits for a time", () => {
    const listed = new Set(rows.flatMap(sourcesOf));
    const waiting = sources.filter((file) => waits.test(readFileSync(file, "utf8")));
    expect(waiting.length).toBeGreaterThan(50);
    expect(waiting.filter((file) => !listed.has(file) && !(file in notListed))).toEqual([]);
    expect(Object.keys(notListed).filter((file) => !waiting.includes(file) || listed.has(file))).toEqual([]);
  });
});
