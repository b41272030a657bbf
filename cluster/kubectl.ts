import { run, succeeds } from "./command.ts";

/** kubectl of the cluster's own version, with a kubeconfig. */
export interface Kubectl {
  run(args: readonly string[], input?: string): Promise<string>;
  succeeds(args: readonly string[]): Promise<boolean>;
  /** Applies objects; unchanged ones are left alone. */
  apply(objects: readonly object[]): Promise<void>;
}

export function createKubectl(program: string, kubeconfig: string): Kubectl {
  const withConfig = (args: readonly string[]) => [`--kubeconfig=${kubeconfig}`, ...args];
  return {
    run: (args, input) => run(program, withConfig(args), input),
    succeeds: (args) => succeeds(program, withConfig(args)),
    async apply(objects) {
      const list = { apiVersion: "v1", kind: "List", items: objects };
      // Server-side: the definition of a kind exceeds the size limit of the client-side annotation.
      const args = ["apply", "--server-side", "--force-conflicts", "--filename=-"];
      await run(program, withConfig(args), JSON.stringify(list));
    },
  };
}
