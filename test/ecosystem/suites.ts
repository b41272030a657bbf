/** One of the test programs that the existing controller publishes with its module. */
export interface Suite {
  /** Its folder in the module. */
  readonly folder: string;
  /** Tests that are not run, by parts of their names, with their unmet requirements. */
  readonly leftOut: Readonly<Record<string, string>>;
}

export const modulePath = "sigs.k8s.io/agent-sandbox";

export const suites: readonly Suite[] = [
  { folder: "test/e2e", leftOut: { RunChromeSandbox: "an image with a browser" } },
  {
    folder: "test/e2e/extensions",
    leftOut: {
      RunPythonRuntimeSandbox: "an image with its Python runtime",
      SandboxDensity: "many nodes, and an image with a browser or its Python runtime",
      RuntimeClassLifecycle:
        "a pool that takes more than a second to refill: it checks that often for the missing member",
      RuntimeClassBurstRecovery: "half an hour: it measures and checks nothing else",
    },
  },
];

/** The environment of the tests besides the kubeconfig. Without a runtime class, the tests of that kind skip themselves. */
export const testEnvironment = { SANDBOX_RUNTIME_CLASS: "default" } as const;

/** The line that says how a test ended, without its indentation; undefined for any other line of the output. */
export function endingIn(line: string): { readonly passed: boolean; readonly text: string } | undefined {
  const [, text, ending] = /^\s*(--- (PASS|FAIL|SKIP): .*)$/.exec(line) ?? [];
  return text === undefined ? undefined : { passed: ending !== "FAIL", text };
}
