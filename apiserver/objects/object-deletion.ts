import { namespaceType } from "../../api/kinds/core.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import { writableAt } from "../../api/rules/timestamps.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { sameJson } from "../json-values.ts";
import { storedResource } from "../kind-registry.ts";
import type { ServedKind } from "../served-kind.ts";
import { conflict, notFound } from "../status-errors.ts";
import type { Entry, Storage } from "../storage/storage.ts";
import { countsGenerations } from "./generation.ts";
import { asTerminating, refusalToDelete } from "./namespaces.ts";
import { wireTime } from "./object-identity.ts";
import { unstored, withFinalizers } from "./object-lifecycle.ts";

export type PropagationPolicy = "Foreground" | "Background" | "Orphan";

export interface DeletionRequest {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagationPolicy?: PropagationPolicy | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly dryRun: boolean;
  /** Called before the change is stored. What it throws rejects the deletion. */
  readonly beforeStored?: (current: Deleted) => void;
}

export interface Deleted {
  readonly entry: Entry;
  /** False while it waits for finalizers or its grace period. */
  readonly gone: boolean;
}

/** The finalizers that make the garbage collector handle dependents before the owner is removed. */
export const foregroundFinalizer = "foregroundDeletion";
export const orphanFinalizer = "orphan";

/** Deletes objects by the rules of all kinds: preconditions, grace, finalizers. */
export class ObjectDeletion {
  readonly #storage: Storage;
  readonly #clock: Clock;

  constructor(storage: Storage, clock: Clock) {
    this.#storage = storage;
    this.#clock = clock;
  }

  /** @throws StatusError 404, or 409 when a precondition fails. */
  delete(kind: ServedKind, namespace: string | undefined, name: string, request: DeletionRequest): Deleted {
    const resource = storedResource(kind);
    const current = this.#storage.get(resource, namespace, name);
    if (!current) throw notFound(kind.type, name);
    refuseUnlessMeant(kind, current, request);

    const refusal = refusalToDelete(kind, name);
    if (refusal) throw refusal;

    const isNamespace = kind.type.kind === namespaceType.kind && kind.type.group === namespaceType.group;
    const graceSeconds = kind.graceSeconds?.(current.object, request.gracePeriodSeconds) ?? 0;
    const finalizers = finalizersFor(current.object, request.propagationPolicy);
    const wanted = withFinalizers(current.object, finalizers);
    const gone = graceSeconds === 0 && finalizers.length === 0 && !isNamespace;
    request.beforeStored?.({ entry: current, gone });
    if (gone) {
      return { entry: this.#remove(kind, current, wanted, request.dryRun), gone: true };
    }
    const marked = this.#marked(kind, wanted, graceSeconds);
    const next = isNamespace ? asTerminating(marked) : marked;
    if (sameJson(next, current.object)) return { entry: current, gone: false };
    return { entry: request.dryRun ? unstored(next) : this.#storage.put(resource, next), gone: false };
  }

  /** Watches of a kind with a grace period see first that it is over. */
  #remove(kind: ServedKind, current: Entry, wanted: KubeObject, dryRun: boolean): Entry {
    const resource = storedResource(kind);
    const last = kind.graceSeconds ? this.#marked(kind, wanted, 0) : wanted;
    if (dryRun) return kind.graceSeconds ? unstored(last) : current;
    if (kind.graceSeconds && !sameJson(last, current.object)) this.#storage.put(resource, last);
    return this.#storage.remove(resource, last);
  }

  /** The object with a deletionTimestamp; an existing one can only be moved earlier. */
  #marked(kind: ServedKind, object: KubeObject, graceSeconds: number): KubeObject {
    const { deletionTimestamp, deletionGracePeriodSeconds = 0, generation } = object.metadata;
    if (deletionTimestamp && graceSeconds >= deletionGracePeriodSeconds) return object;
    return {
      ...object,
      metadata: {
        ...object.metadata,
        ...(!deletionTimestamp && countsGenerations(kind) && { generation: (generation ?? 0) + 1 }),
        deletionTimestamp: wireTime(writableAt(this.#clock.now().getTime() + graceSeconds * 1_000)),
        deletionGracePeriodSeconds: graceSeconds,
      },
    };
  }
}

function refuseUnlessMeant(kind: ServedKind, { object }: Entry, { uid, resourceVersion }: DeletionRequest): void {
  const { name, uid: actualUid, resourceVersion: actualVersion } = object.metadata;
  // Only here, kube-apiserver's message has the kind in place of the resource.
  const type = { ...kind.type, plural: kind.type.kind };
  if (uid && uid !== actualUid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${actualUid}). The object might have been deleted and then recreated`;
    throw conflict(type, name, why);
  }
  if (resourceVersion && resourceVersion !== actualVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${actualVersion}). The object might have been modified`;
    throw conflict(type, name, why);
  }
}

/** The policy is stored as a finalizer; without a policy an earlier choice stays. */
function finalizersFor(object: KubeObject, policy: PropagationPolicy | undefined): readonly string[] {
  const current = object.metadata.finalizers ?? [];
  if (policy === undefined) return current;
  const others = current.filter((finalizer) => finalizer !== foregroundFinalizer && finalizer !== orphanFinalizer);
  if (policy === "Foreground") return [...others, foregroundFinalizer];
  return policy === "Orphan" ? [...others, orphanFinalizer] : others;
}
