import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { longest } from "./support/longest-first.ts";
import { projectFiles } from "./support/project-files.ts";

/** The folders that each folder may import. Imports point down. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  api: ["lib"],
  kube: ["lib", "api"],
  apiserver: ["lib", "api", "kube"],
  controller: ["lib", "api", "kube"],
  activator: ["lib", "api", "kube"],
  node: ["lib", "api", "kube"],
  local: ["lib", "api", "kube", "apiserver", "controller", "activator"],
  bench: ["lib", "api", "kube", "apiserver", "controller", "activator", "local", "cluster", "scripts", "test"],
  scripts: ["lib", "api", "kube", "apiserver", "controller", "activator", "node"],
  cluster: ["lib", "api", "kube", "apiserver", "scripts"],
};

interface Ban {
  readonly found: RegExp;
  readonly use: string;
  readonly allowedIn: readonly string[];
}

const tracingFiles = ["tracer", "create-tracer", "patient-exporter", "start-tracing"].map(
  (name) => `lib/tracing/${name}.ts`,
);

const bans: readonly Ban[] = [
  { found: /\bDate\.now\(|\bnew Date\(\)/, use: "the Clock you were given", allowedIn: ["lib/time/clock.ts"] },
  {
    found: /\bDate\.parse\(|\bnew Date\((["'`]|[\w.?]*(time|timestamp|text|since|At)\))/i,
    use: "readTime, or createdMs: API servers accept times that Date does not read",
    allowedIn: ["api/rules/timestamps.ts", "lib/time/clock.ts", "scripts/reference/metrics-page.ts"],
  },
  { found: /\bset(Timeout|Interval)\(/, use: "clock.after or clock.sleep", allowedIn: ["lib/time/clock.ts"] },
  { found: /\bprocess\.env\b/, use: "the parsed configuration", allowedIn: ["main.ts"] },
  { found: /\bconsole\./, use: "the logger", allowedIn: [] },
  { found: /\.addEventListener\("abort"/, use: "onAbort, which ends no process", allowedIn: ["lib/guard/on-abort.ts"] },
  {
    found: /["'](@opentelemetry|@grpc)\//,
    use: "a Tracer; what it takes to export traces is loaded with lib/tracing/start-tracing.ts, when it is needed",
    allowedIn: tracingFiles,
  },
  {
    found: /client\.list\((?!.*\b(limit|labelSelector)\b)/i,
    use: "listEverything: an answer has a limit of bytes, and a tenant decides how large a namespace is",
    allowedIn: ["kube/client/list-everything.ts", "kube/client/call-lanes.ts"],
  },
  {
    found: /\bstream\.destroy\(/,
    use: "cutStream: within an event of a stream of HTTP/2, Node would ask it for data for ever",
    allowedIn: [
      "activator/http2/front/cut-stream.ts",
      "activator/http2/stream-reader.ts",
      "local/kubelet/container/container-actions.ts",
    ],
  },
  { found: /@ts-ignore|@ts-expect-error|\bas any[),;.\]]/, use: "a type that is true", allowedIn: [] },
  { found: /\b(it|test|describe)\.(skip|todo|only|fails)\b/, use: "a test that runs", allowedIn: [] },
  { found: /\bvi\.waitFor\(.*\)\);/, use: "a limit with it: its own is a second", allowedIn: [] },
  {
    found: /\bvi\.(mock|doMock|hoisted)\(/,
    use: "a fake that is passed in: Node loads modules as they are",
    allowedIn: [],
  },
];

const longestFile = 300;

/** Files with one idea in more lines than that. This list may only shrink. */
const longFiles: readonly string[] = [];

const tracked = projectFiles();
const read = (file: string) => readFileSync(file, "utf8");
const isTest = (file: string) => file.endsWith(".test.ts") || file.startsWith("test/");
const sources = tracked.filter((file) => file.endsWith(".ts"));
const programs = sources.filter((file) => !isTest(file) && !file.startsWith("bench/"));

function upwardImports(file: string): string[] {
  const folder = file.split("/", 1)[0] ?? "";
  const allowed = mayImport[folder];
  if (!allowed || isTest(file)) return [];
  const targets = [...read(file).matchAll(/\bfrom "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/g)].map(
    ([, from, dynamic]) => normalize(join(dirname(file), from ?? dynamic ?? "")).split("/", 1)[0] ?? "",
  );
  return targets
    .filter((target) => target !== folder && target !== "package.json" && !allowed.includes(target))
    .map((target) => `${file}: ${folder} may not import ${target}; move what both need further down`);
}

function banned(file: string): string[] {
  const lines = read(file).split("\n");
  return bans.flatMap(({ found, use, allowedIn }) =>
    allowedIn.some((name) => file === name || file.endsWith(`/${name}`))
      ? []
      : lines.flatMap((line, at) => (found.test(line) ? [`${file}:${at + 1}: ${line.trim()}; use ${use}`] : [])),
  );
}

describe("the repository", () => {
  it("has no import that points up", () => {
    expect(sources.flatMap(upwardImports)).toEqual([]);
  });

  it("uses the time, the environment, the terminal and the trace exporter only through one module each", () => {
    expect(programs.flatMap(banned)).toEqual([]);
  });

  it("removes folders of local mode only by removeTree, because programs leave some that rm cannot remove", () => {
    const local = programs.filter((file) => file.startsWith("local/"));
    expect(local.filter((file) => /\brm(Sync)?\([^;]*\brecursive:/.test(read(file)))).toEqual([]);
  });

  it("has no disabled test and no suppressed check", () => {
    const inTests = bans.slice(-4);
    const silenced = sources
      .filter((file) => file !== "test/tidy.test.ts")
      .flatMap((file) => inTests.flatMap(({ found, use }) => (found.test(read(file)) ? [`${file}: use ${use}`] : [])));
    expect(silenced).toEqual([]);
  });

  it("starts only test files first that exist", () => {
    const tests = tracked.filter((file) => file.endsWith(".test.ts"));
    expect(longest.filter((path) => !tests.some((file) => file.startsWith(path)))).toEqual([]);
  });

  it("has no source file over 300 lines, except for those that are listed", () => {
    const long = programs.filter((file) => read(file).split("\n").length > longestFile + 1);
    expect(long.filter((file) => !longFiles.includes(file))).toEqual([]);
    expect(longFiles.filter((file) => !long.includes(file))).toEqual([]);
  });

  it("describes each folder of the sources, the controller and the activator in the architecture document", () => {
    const folders = sources.flatMap((file) => /^(?:(?:controller|activator|node)\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []);
    const said = read("docs/architecture.md");
    expect([...new Set(folders)].filter((folder) => !said.includes(`](../${folder})`))).toEqual([]);
  });

  it("names only files in its documents that exist", () => {
    const missing = tracked
      .filter((file) => file.endsWith(".md"))
      .flatMap((file) =>
        [...read(file).matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)(?:#[^)]*)?\)/g)]
          .map(([, path]) => join(dirname(file), path ?? ""))
          .filter((path) => !existsSync(path))
          .map((path) => `${file}: ${path} does not exist`),
      );
    expect(missing).toEqual([]);
  });
});
