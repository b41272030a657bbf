import type { KubeClient } from "../../../kube/client/client.ts";

/** A client whose lists of one kind wait until `listed` is called. */
export function withLateLists(client: KubeClient, kind: string): { readonly client: KubeClient; listed(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    client: {
      ...client,
      list: async (type, options, signal) => {
        if (type.kind === kind) await promise;
        return client.list(type, options, signal);
      },
    },
    listed: () => resolve(),
  };
}
