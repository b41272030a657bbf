import { type KubeObject, keyOf, type ObjectMeta, type Stored } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../../kube/client/errors.ts";
import { patchOfSame, type WithMetadata } from "../../merge-patch.ts";
import type { OwnWrites } from "../../own-writes.ts";

export const fieldManager = "sandbox-controller";

/** The writes to the children of a Sandbox, and the read before a deletion or a repeated creation, each seen by its store at once. */
export function writerOf<T extends KubeObject>(client: KubeClient, type: ResourceType<T>, signal: AbortSignal) {
  const read = ({ namespace, name = "" }: ObjectMeta) => client.get(type, { namespace, name }, signal);
  return {
    /** Returns what the API server has made of it. */
    async create(
      store: Pick<OwnWrites<T>, "create" | "write">,
      object: T,
      onCreated: () => void,
    ): Promise<Stored<T> | "clashed"> {
      const key = keyOf(object);
      try {
        const created = await store.create(key, () => client.create(type, object, { fieldManager }, signal));
        onCreated();
        return created;
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        await store.write(key, () => read(object.metadata));
        return "clashed";
      }
    },
    /** Returns what the API server has made of it. */
    patch(
      store: Pick<OwnWrites<T>, "patch" | "write">,
      object: Stored<T>,
      body: WithMetadata,
    ): Promise<Stored<T> | "clashed"> {
      const { namespace, name } = object.metadata;
      const call = () => client.patch(type, { namespace, name }, patchOfSame(object, body), {}, signal);
      return orClashed(store, object, { write: () => store.patch(object, body, call), read });
    },
    replace(store: Pick<OwnWrites<T>, "write">, object: Stored<T>): Promise<Stored<T> | "clashed"> {
      const write = () => store.write(keyOf(object), () => client.replace(type, object, {}, signal));
      return orClashed(store, object, { write, read });
    },
    /** Whether the object is still as it was seen. */
    async confirm(store: Pick<OwnWrites<T>, "read">, object: Stored<T>): Promise<"done" | "clashed"> {
      const found = await store.read(keyOf(object), () => read(object.metadata));
      return found?.metadata.resourceVersion === object.metadata.resourceVersion ? "done" : "clashed";
    },
    /**
     * The uid makes this "delete the one I saw", never "delete whatever has that name by now". `asSeen`: the object itself
     * says why it is to go, so one that has changed since (an expiry that was put off) stays and is reconciled again. A
     * Pod is deleted because of its Sandbox, and its own status changes all the time.
     */
    async delete(
      store: Pick<OwnWrites<T>, "delete" | "read">,
      object: Stored<T>,
      { mayBeGone, asSeen }: { readonly mayBeGone: boolean; readonly asSeen: boolean },
    ): Promise<"done" | "clashed"> {
      const { namespace, name, uid, resourceVersion } = object.metadata;
      const options = { preconditions: { uid, ...(asSeen && { resourceVersion }) } };
      const call = () => client.delete(type, { namespace, name }, options, signal);
      const result = await deleteThat(store, object, { call, mayBeGone, asSeen });
      if (result === "done") return "done";
      return (await store.read(keyOf(object), () => read(object.metadata))) ? "clashed" : "done";
    },
  };
}

/** Changes an object. An object that has changed since it was read stays as it is, and is reconciled again. */
async function orClashed<T extends KubeObject>(
  store: Pick<OwnWrites<T>, "write">,
  object: Stored<T>,
  { write, read }: { readonly write: () => Promise<Stored<T>>; readonly read: (of: ObjectMeta) => Promise<Stored<T>> },
): Promise<Stored<T> | "clashed"> {
  try {
    return await write();
  } catch (error) {
    if (!isConflict(error)) throw error;
    await store.write(keyOf(object), () => read(object.metadata));
    return "clashed";
  }
}

interface Deletion {
  readonly call: () => Promise<void>;
  readonly mayBeGone: boolean;
  readonly asSeen: boolean;
}

/** `changed`: it has changed since it was seen, and stays. */
async function deleteThat<T extends KubeObject>(
  store: Pick<OwnWrites<T>, "delete">,
  object: Stored<T>,
  { call, mayBeGone, asSeen }: Deletion,
): Promise<"done" | "changed"> {
  try {
    await store.delete(object, call);
    return "done";
  } catch (error) {
    if (mayBeGone && isNotFound(error)) return "done";
    if (!asSeen || !isConflict(error)) throw error;
    return "changed";
  }
}
