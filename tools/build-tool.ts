import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** One program of somebody else's that tests and benchmarks run, built from its published Go module. */
interface Tool {
  /** The folder below this one whose go.mod pins it. */
  readonly module: string;
  readonly package: string;
  readonly linkerFlags: string;
}

// Without a version stamped in, kubectl reports one that neither it nor others can parse.
const kubernetes = (version: string) => {
  const [major, minor] = version.slice(1).split(".");
  const stamps = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((path) => [
    `-X ${path}.gitVersion=${version}`,
    `-X ${path}.gitMajor=${major}`,
    `-X ${path}.gitMinor=${minor}`,
  ]);
  return ["-s -w", ...stamps].join(" ");
};

const tools = {
  kubectl: { module: "kubernetes", package: "k8s.io/kubernetes/cmd/kubectl", linkerFlags: kubernetes("v1.36.3") },
  "kubectl-1.30": {
    module: "kubectl-1.30",
    package: "k8s.io/kubernetes/cmd/kubectl",
    linkerFlags: kubernetes("v1.30.14"),
  },
  k6: { module: "k6", package: "go.k6.io/k6", linkerFlags: "-s -w" },
} as const satisfies Readonly<Record<string, Tool>>;

export type ToolName = keyof typeof tools;

export interface ToolBuilder {
  /** The folder that keeps what was built, between checkouts too. */
  readonly cacheDirectory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
}

export function defaultCacheDirectory(environment: Readonly<Record<string, string | undefined>>): string {
  return join(environment.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "rouse", "tools");
}

/**
 * The path of a program, built if it is not there yet; undefined where there is no Go to build it with. What was built
 * is kept under the hash of all that went into it, so a changed pin is never served by an old program.
 *
 * @throws when the build fails; the message ends with what the compiler said.
 */
export async function findOrBuild(name: ToolName, builder: ToolBuilder): Promise<string | undefined> {
  const { cacheDirectory, environment, say } = builder;
  const tool: Tool = tools[name];
  const directory = join(import.meta.dirname, tool.module);
  const hash = createHash("sha256").update(JSON.stringify(tool));
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(directory, file)));
  const path = join(cacheDirectory, hash.digest("hex").slice(0, 16), name);
  if (existsSync(path)) return path;
  if (!(await hasGo())) return undefined;

  say(`building ${name} (only the first time; it takes minutes) ...`);
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  const args = ["build", "-trimpath", "-ldflags", tool.linkerFlags, "-o", unfinished, tool.package];
  await run("go", args, { cwd: directory, env: { ...environment, CGO_ENABLED: "0" }, maxBuffer: 64 << 20 });
  renameSync(unfinished, path);
  return path;
}

async function hasGo(): Promise<boolean> {
  return run("go", ["version"]).then(
    () => true,
    () => false,
  );
}
