import { execFileSync } from "node:child_process";

const inActivator = [
  "find",
  "authorize",
  "connect",
  "hold",
  "wake",
  "pod-connections",
  "headers",
  "activity",
  "drain",
  "tcp-front",
  "http1",
];
const inController = ["sandbox", "suspension", "claim", "warm-pool", "tcp-front", "webhook"];

/** Everything that decides, lets in, destroys or counts: a folder, or a single file. */
export const targets: readonly string[] = [
  "activator/serve.ts",
  ...inActivator.map((folder) => `activator/${folder}`),
  ...inController.map((folder) => `controller/${folder}`),
  "kube",
];

/** The files of the project, as Git knows them. */
export const projectFiles = (root: string): readonly string[] =>
  execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" }).trim().split("\n");

/** Those files of a target that are mutated: no tests. */
export const filesOf = (target: string, files: readonly string[]): readonly string[] =>
  files.filter(
    (file) => (file === target || file.startsWith(`${target}/`)) && file.endsWith(".ts") && !file.endsWith(".test.ts"),
  );
