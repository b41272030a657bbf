import type { KubeObject, ObjectMeta, StatusCause, Stored } from "../../api/kinds/meta.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import { generatedName } from "../../api/rules/generated-name.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { sameJson } from "../json-values.ts";
import { storedResource } from "../kind-registry.ts";
import type { Admission, ServedKind } from "../served-kind.ts";
import { alreadyExists, badRequest, conflict, invalid, notFound, quotaExceeded, unexpected } from "../status-errors.ts";
import { fitsQuota, quotaForHeap, weightOf } from "../storage/quota.ts";
import type { Entry, Storage, StoredEntry } from "../storage/storage.ts";
import { asksForMore, countsGenerations } from "./generation.ts";
import { refusalToAdd } from "./namespaces.ts";
import { newUid, wireTime } from "./object-identity.ts";
import { storeOrFinish, unstored } from "./object-lifecycle.ts";
import { metadataCauses } from "./object-metadata.ts";
import { intoStore, viewOf } from "./views.ts";

export interface WriteMode {
  readonly dryRun: boolean;
  /** The handling of unknown fields. */
  readonly fieldValidation: "Strict" | "Warn" | "Ignore";
  /** Called before the object is stored, with the bytes of its JSON. What it throws rejects the write. */
  readonly beforeStored?: (bytes: number) => void;
}

export interface Written {
  readonly entry: Entry;
  /** The removed fields, as warnings for the client. */
  readonly warnings: readonly string[];
}

export interface Update {
  readonly subresource: "status" | "scale" | undefined;
  /** Whether the new object must have the version that it replaces; patches need not. */
  readonly versionRequired: boolean;
  /** Computes the new object from the stored one. */
  readonly change: (current: Stored<KubeObject>) => KubeObject;
}

/** What an API server takes whose etcd has its default limit. */
const objectBytesMax = 1_536 * 1024;

/** Creates and updates objects by the rules of all kinds. */
export class ObjectWrites {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #quotaBytes: number;

  /** `quotaBytes`: what all objects may weigh. */
  constructor(storage: Storage, clock: Clock, quotaBytes: number = quotaForHeap()) {
    this.#storage = storage;
    this.#clock = clock;
    this.#quotaBytes = quotaBytes;
  }

  /** @throws StatusError like kube-apiserver: 400, 403, 404 (no such namespace), 409, 422, 500 (too large); 507 beyond the quota. */
  create(kind: ServedKind, namespace: string | undefined, body: KubeObject, mode: WriteMode): Written {
    if (body.metadata.resourceVersion) throw unexpected("resourceVersion should not be set on objects to be created");
    const named = asNew(kind, namespace, body, this.#clock.now());
    const name = named.metadata.name ?? "";
    const refusal = refusalToAdd(this.#storage, kind, namespace, name);
    if (refusal) throw refusal;
    const { object, warnings } = this.#admit(kind, { asked: named, old: undefined, subresource: undefined }, mode);
    const resource = storedResource(kind);
    if (this.#storage.get(resource, namespace, name)) throw alreadyExists(kind.type, name);
    const spelled = intoStore(kind, object);
    const json = JSON.stringify(spelled);
    mode.beforeStored?.(Buffer.byteLength(json));
    if (mode.dryRun) return { entry: unstored(object), warnings };
    this.#refuseTooLarge(json, undefined);
    return { entry: viewOf(kind, this.#storage.put(resource, spelled)), warnings };
  }

  /** @throws StatusError like kube-apiserver: 400, 404, 409, 422, 500 (too large); 507 beyond the quota. */
  update(
    kind: ServedKind,
    { namespace, name }: { readonly namespace: string | undefined; readonly name: string },
    { subresource, versionRequired, change }: Update,
    mode: WriteMode,
  ): Written {
    const resource = storedResource(kind);
    const stored = this.#storage.get(resource, namespace, name);
    if (!stored) throw notFound(kind.type, name);
    const current = viewOf(kind, stored);
    const asked = change(current.object);
    refuseOtherIdentity(kind, current.object, asked, versionRequired);
    const merged = onlyItsPart(kind, current.object, asked, subresource);
    const asAsked = { asked: merged, old: current.object, subresource };
    const { object: admitted, warnings } = this.#admit(kind, asAsked, mode);
    const next = withGeneration(kind, current.object, admitted);
    const spelled = intoStore(kind, next);
    const json = JSON.stringify(spelled);
    mode.beforeStored?.(Buffer.byteLength(json));
    if (sameJson(spelled, stored.object)) return { entry: current, warnings };
    if (mode.dryRun) return { entry: unstored(next), warnings };
    this.#refuseTooLarge(json, stored);
    return { entry: viewOf(kind, storeOrFinish(this.#storage, resource, spelled)), warnings };
  }

  /** An object that an earlier version has stored can still be made smaller, and lose its finalizers. */
  #refuseTooLarge(json: string, previous: StoredEntry | undefined): void {
    const objectBytes = Buffer.byteLength(json);
    if (objectBytes > objectBytesMax && !(previous && objectBytes <= Buffer.byteLength(previous.json))) {
      throw unexpected("etcdserver: request is too large");
    }
    const { weight } = this.#storage;
    const grown = weightOf(json) - (previous?.weight ?? 0);
    const isNew = !previous;
    if (!fitsQuota(this.#quotaBytes, { weight, grown, isNew })) throw quotaExceeded(this.#quotaBytes, { isNew });
  }

  #admit(
    kind: ServedKind,
    { asked, old, subresource }: Pick<Admission, "old" | "subresource"> & { readonly asked: KubeObject },
    mode: WriteMode,
  ): { readonly object: KubeObject; readonly warnings: readonly string[] } {
    const admission: Admission = { operation: old ? "update" : "create", subresource, old, now: this.#clock.now() };
    const { object, unknownFields } = kind.prepare(asked, admission);
    const warnings = unknownFields.map((field) => `unknown field "${field}"`);
    if (warnings.length > 0 && mode.fieldValidation === "Strict") throw strictDecodingError(kind, warnings);
    const causes = [...metadataCauses(object, old), ...kind.validate(object, admission)];
    if (causes.length > 0) throw invalid(kind.type, object.metadata.name ?? "", causes);
    return { object, warnings: mode.fieldValidation === "Warn" ? warnings : [] };
  }
}

function asNew(kind: ServedKind, namespace: string | undefined, body: KubeObject, now: Date): KubeObject {
  const { name, generateName, labels, annotations, ownerReferences, finalizers } = body.metadata;
  const metadata: ObjectMeta = {
    ...(generateName && { generateName }),
    name: name || (generateName ? generatedName(generateName) : ""),
    ...(namespace !== undefined && { namespace }),
    uid: newUid(),
    creationTimestamp: wireTime(now),
    ...(countsGenerations(kind) && { generation: 1 }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(ownerReferences && { ownerReferences }),
    ...(finalizers && { finalizers }),
  };
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...rest } = body;
  const { status: _status, ...withoutStatus } = rest as { readonly status?: unknown };
  return {
    apiVersion: apiVersionOf(kind.type),
    kind: kind.type.kind,
    metadata,
    // Kinds with a separate status cannot be created with a status.
    ...(kind.hasStatus ? withoutStatus : rest),
  };
}

/** The name in the path, the version and the uid must match the stored object. */
function refuseOtherIdentity(kind: ServedKind, current: KubeObject, asked: KubeObject, versionRequired: boolean): void {
  const { name = "", namespace, resourceVersion, uid } = current.metadata;
  const { metadata } = asked;
  if (!metadata.name) {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  if (metadata.name !== name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  }
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest("the namespace of the object does not match the namespace on the request");
  }
  if (metadata.uid && metadata.uid !== uid) {
    const why = `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${uid}`;
    throw conflict(kind.type, name, why);
  }
  const askedVersion = readVersion(metadata);
  if (!askedVersion && versionRequired) throw invalid({ ...kind.type, kind: kind.type.plural }, name, [versionMissing]);
  if (askedVersion && askedVersion !== resourceVersion) throw conflict(kind.type, name);
}

/** Undefined: any version. */
function readVersion({ resourceVersion }: ObjectMeta): string | undefined {
  if (!resourceVersion || resourceVersion === "0") return undefined;
  if (!/^\d+$/.test(resourceVersion)) {
    throw unexpected(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
  }
  return resourceVersion;
}

const versionMissing: StatusCause = {
  reason: "FieldValueInvalid",
  message: "Invalid value: 0: must be specified for an update",
  field: "metadata.resourceVersion",
};

/** The writable part: only the status through its own path, everything else through the main one. */
function onlyItsPart(
  kind: ServedKind,
  current: KubeObject,
  asked: KubeObject,
  subresource: Update["subresource"],
): KubeObject {
  const { status: currentStatus, ...currentRest } = current as KubeObject & { readonly status?: unknown };
  const { status: askedStatus, ...askedRest } = asked as KubeObject & { readonly status?: unknown };
  if (subresource === "status") {
    return { ...currentRest, ...(askedStatus !== undefined && { status: askedStatus }) } as KubeObject;
  }
  const status = kind.hasStatus ? currentStatus : askedStatus;
  return {
    ...askedRest,
    apiVersion: apiVersionOf(kind.type),
    kind: kind.type.kind,
    metadata: keepSystemFields(current.metadata, asked.metadata),
    ...(status !== undefined && { status }),
  } as KubeObject;
}

function keepSystemFields(current: ObjectMeta, asked: ObjectMeta): ObjectMeta {
  const { labels, annotations, ownerReferences, finalizers } = asked;
  const { labels: _l, annotations: _a, ownerReferences: _o, finalizers: _f, ...system } = current;
  return {
    ...system,
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(ownerReferences && ownerReferences.length > 0 && { ownerReferences }),
    ...(finalizers && finalizers.length > 0 && { finalizers }),
  };
}

function withGeneration(kind: ServedKind, current: KubeObject, next: KubeObject): KubeObject {
  if (!countsGenerations(kind) || !asksForMore(kind, current, next)) return next;
  return { ...next, metadata: { ...next.metadata, generation: (current.metadata.generation ?? 0) + 1 } };
}

function strictDecodingError(kind: ServedKind, warnings: readonly string[]) {
  const { version, kind: name } = kind.type;
  return badRequest(
    `${name} in version "${version}" cannot be handled as a ${name}: strict decoding error: ${warnings.join(", ")}`,
  );
}
