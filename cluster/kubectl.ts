import { run, succeeds } from "./command.ts";

/** kubectl with a kubeconfig; the cluster's own version of it. */
export interface Kubectl {
  run(args: readonly string[], input?: string): Promise<string>;
  succeeds(args: readonly string[]): Promise<boolean>;
  /** Brings objects in line with these; those that are so already are left alone. */
  apply(objects: readonly object[]): Promise<void>;
}

export function createKubectl(program: string, kubeconfig: string): Kubectl {
  const withConfig = (args: readonly string[]) => [`--kubeconfig=${kubeconfig}`, ...args];
  return {
    run: (args, input) => run(program, withConfig(args), input),
    succeeds: (args) => succeeds(program, withConfig(args)),
    async apply(objects) {
      const list = { apiVersion: "v1", kind: "List", items: objects };
      // On the server's side, for a definition of a kind is larger than what the client's side can remember.
      const args = ["apply", "--server-side", "--force-conflicts", "--filename=-"];
      await run(program, withConfig(args), JSON.stringify(list));
    },
  };
}
