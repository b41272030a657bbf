const inActivator = [
  "find",
  "authorize",
  "connect",
  "readiness",
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

/** The folders and files with decisions, access control, deletion and counting. */
export const targets: readonly string[] = [
  "activator/serve.ts",
  ...inActivator.map((folder) => `activator/${folder}`),
  ...inController.map((folder) => `controller/${folder}`),
  "kube",
];

/** The files of a target that are mutated, without tests. */
export const filesOf = (target: string, files: readonly string[]): readonly string[] =>
  files.filter(
    (file) => (file === target || file.startsWith(`${target}/`)) && file.endsWith(".ts") && !file.endsWith(".test.ts"),
  );
