import type { KubeObject } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import type { KubeClient } from "../../../kube/client/client.ts";

export interface RecordedCall {
  readonly verb: "get" | "list" | "create" | "replace" | "patch" | "delete";
  readonly kind: string;
  readonly name: string;
  readonly subresource: string | undefined;
  /** The body of the call. */
  readonly body: unknown;
}

/** A client that forwards and records all calls except watches, and fails calls as the test says. */
export interface RecordingClient extends KubeClient {
  readonly calls: RecordedCall[];
  /** Returns the error of a call, or undefined to forward it. */
  failWith: ((call: RecordedCall) => Error | undefined) | undefined;
}

export function recordCalls(client: KubeClient): RecordingClient {
  const note = (
    verb: RecordedCall["verb"],
    type: ResourceType,
    name: string | undefined,
    more: Partial<RecordedCall> = {},
  ) => {
    const call = { verb, kind: type.kind, name: name ?? "", subresource: undefined, body: undefined, ...more };
    recording.calls.push(call);
    const failure = recording.failWith?.(call);
    if (failure) throw failure;
  };
  const recording: RecordingClient = {
    calls: [],
    failWith: undefined,
    async get(type, name, signal) {
      note("get", type, name.name);
      return client.get(type, name, signal);
    },
    async list(type, options, signal) {
      note("list", type, undefined);
      return client.list(type, options, signal);
    },
    watch: (type, options, signal) => client.watch(type, options, signal),
    async create<T extends KubeObject>(type: ResourceType<T>, object: T, ...rest: [object?, AbortSignal?]) {
      note("create", type, object.metadata.name, { body: object });
      return client.create(type, object, ...rest);
    },
    async replace<T extends KubeObject>(type: ResourceType<T>, object: T, ...rest: [object?, AbortSignal?]) {
      note("replace", type, object.metadata.name, { body: object });
      return client.replace(type, object, ...rest);
    },
    async patch(type, name, patch, options, signal) {
      note("patch", type, name.name, { body: patch.body, subresource: options?.subresource });
      return client.patch(type, name, patch, options, signal);
    },
    async delete(type, name, options, signal) {
      note("delete", type, name.name, { body: options });
      return client.delete(type, name, options, signal);
    },
  };
  return recording;
}
