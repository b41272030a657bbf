import { configMapType } from "../../../api/kinds/core.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { isSuspensionComplete } from "../../../api/rules/suspension.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { readExample } from "../../../local/examples.ts";
import { clientOf, LocalMode } from "../labs/local-mode.ts";

export const echoPlace = { namespace: "default", name: "echo" } as const;
export const echoAuthority = "50051--echo--default.sandbox.localhost";

export interface GrpcExample extends AsyncDisposable {
  /** The address of the activator. */
  readonly target: string;
  readonly kube: KubeClient;
  isAsleep(): Promise<boolean>;
}

/** Local mode with the example for gRPC, which is suspended when it is idle for two seconds. */
export async function startGrpcExample(...flags: readonly string[]): Promise<GrpcExample> {
  await using opened = new AsyncDisposableStack();
  const ready = await opened.use(new LocalMode()).start("--no-example", ...flags);
  const kube = opened.use(clientOf(ready));
  for (const object of readExample("examples/grpc")) {
    const placed = { ...object, metadata: { ...object.metadata, namespace: "default" } };
    if (object.kind === "ConfigMap") await kube.create(configMapType, placed);
    else {
      const { spec, ...rest } = placed as Sandbox;
      const autoSuspension = { ...spec.autoSuspension, inactivityTimeoutSeconds: 2 };
      await kube.create(sandboxType, { ...rest, spec: { ...spec, autoSuspension } });
    }
  }
  const closing = opened.move();
  return {
    target: new URL(ready.activator).host,
    kube,
    isAsleep: async () => isSuspensionComplete(await kube.get(sandboxType, echoPlace)),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
