import type { KubeObject } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import type { KubeClient, WriteOptions } from "../../../kube/client/client.ts";
import { chartRights, type Program, type Rights, rightOf } from "../chart-rights.ts";

/** A program has made a call for which the chart gives it no right. */
export class NoRight extends Error {
  override readonly name = "NoRight";
}

interface Known extends Rights {
  readonly used: Set<string>;
}

const known = new Map<Program, Known>();

function rightsOf(program: Program): Known {
  const rights = known.get(program) ?? { ...chartRights(program), used: new Set() };
  known.set(program, rights);
  return rights;
}

/** The rights that the calls of a program have needed in this file. */
export const usedRights = (program: Program): ReadonlySet<string> => rightsOf(program).used;

/** By an unhandled rejection. */
const failTest = (error: Error): void => void Promise.reject(error);

/**
 * The client of a program, as an API server of Kubernetes would serve it: a call for which the chart gives no right fails, and the
 * test with it, whatever the program makes of the failure.
 */
export function withinRights(program: Program, client: KubeClient, onFailure = failTest): KubeClient {
  const rights = rightsOf(program);
  const need = (verb: string, type: ResourceType, namespace: string | undefined, subresource?: string) => {
    const right = rightOf(verb, type.group, type.plural + (subresource ? `/${subresource}` : ""));
    rights.used.add(right);
    if (rights.everywhere.has(right) || (namespace && rights.somewhere.has(right))) return;
    const error = new NoRight(`the chart does not let the ${program} ${right}${namespace ? "" : " in all namespaces"}`);
    onFailure(error);
    throw error;
  };
  return {
    async get(type, name, signal) {
      need("get", type, name.namespace);
      return client.get(type, name, signal);
    },
    async list(type, options, signal) {
      need("list", type, options?.namespace);
      return client.list(type, options, signal);
    },
    watch(type, options, signal) {
      need("watch", type, options.namespace);
      return client.watch(type, options, signal);
    },
    async create<T extends KubeObject>(type: ResourceType<T>, object: T, ...rest: [object?, AbortSignal?]) {
      need("create", type, object.metadata.namespace);
      return client.create(type, object, ...rest);
    },
    async replace<T extends KubeObject>(type: ResourceType<T>, object: T, ...rest: [WriteOptions?, AbortSignal?]) {
      need("update", type, object.metadata.namespace, rest[0]?.subresource);
      return client.replace(type, object, ...rest);
    },
    async patch(type, name, patch, options, signal) {
      need("patch", type, name.namespace, options?.subresource);
      return client.patch(type, name, patch, options, signal);
    },
    async delete(type, name, options, signal) {
      need("delete", type, name.namespace);
      return client.delete(type, name, options, signal);
    },
  };
}
