import type { KubeObject } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import type { KubeClient, WriteOptions } from "../../../kube/client/client.ts";

export interface InterceptedCall {
  readonly verb: "get" | "create" | "replace" | "patch" | "delete";
  readonly kind: string;
  readonly name: string;
  readonly subresource: string | undefined;
  readonly body: unknown;
  /** Only of creations. */
  readonly dryRun: boolean;
}

/** May call `proceed`, and may do something before, after or instead. */
export type Intercept = (call: InterceptedCall, proceed: () => Promise<unknown>) => Promise<unknown>;

/** A client whose calls about single objects go through `intercept`, which may fail them or do something in between. */
export function interceptCalls(client: KubeClient, intercept: Intercept): KubeClient {
  const through = <R>(
    verb: InterceptedCall["verb"],
    type: ResourceType,
    name: string | undefined,
    more: Partial<InterceptedCall>,
    proceed: () => Promise<R>,
  ): Promise<R> => {
    const call = {
      verb,
      kind: type.kind,
      name: name ?? "",
      subresource: undefined,
      body: undefined,
      dryRun: false,
      ...more,
    };
    return intercept(call, proceed) as Promise<R>;
  };
  return {
    get: (type, name, signal) => through("get", type, name.name, {}, () => client.get(type, name, signal)),
    list: (type, options, signal) => client.list(type, options, signal),
    watch: (type, options, signal) => client.watch(type, options, signal),
    create: <T extends KubeObject>(type: ResourceType<T>, body: T, options?: WriteOptions, signal?: AbortSignal) => {
      const more = { body, dryRun: options?.dryRun === true };
      return through("create", type, body.metadata.name, more, () => client.create(type, body, options, signal));
    },
    replace: <T extends KubeObject>(type: ResourceType<T>, body: T, ...rest: [object?, AbortSignal?]) =>
      through("replace", type, body.metadata.name, { body }, () => client.replace(type, body, ...rest)),
    patch: (type, name, patch, options, signal) => {
      const more = { body: patch.body, subresource: options?.subresource };
      return through("patch", type, name.name, more, () => client.patch(type, name, patch, options, signal));
    },
    delete: (type, name, options, signal) =>
      through("delete", type, name.name, { body: options }, () => client.delete(type, name, options, signal)),
  };
}
