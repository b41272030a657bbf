import { type Event, eventType } from "../../api/kinds/core.ts";
import type { KubeObject, OwnerReference } from "../../api/kinds/meta.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import { toMicroTime } from "../../kube/micro-time.ts";
import type { CollectorOptions } from "./garbage-collector.ts";

const reporter = "garbage-collector-controller";
/** Events about objects without a namespace are in this one. */
const namespace = "default";

/**
 * Records, in the words of a cluster's garbage collector, that an object without a namespace has owners that are in one. An event
 * that cannot be written is logged and dropped: the object is kept anyway.
 */
export function recordOwnerReport(
  { kinds, writes, clock, log }: CollectorOptions,
  object: KubeObject,
  owners: readonly OwnerReference[],
): void {
  const kind = kinds.ofGroupKind(eventType.group, eventType.kind);
  if (!kind) return;
  for (const owner of owners) {
    const { apiVersion, kind: ownerKind, name, uid } = owner;
    const identity = `[${apiVersion}/${ownerKind}, namespace: , name: ${name}, uid: ${uid}]`;
    const event: Event = {
      apiVersion: apiVersionOf(eventType),
      kind: eventType.kind,
      metadata: { namespace, generateName: `${nameStart(object)}.` },
      eventTime: toMicroTime(clock.now()),
      reportingController: reporter,
      reportingInstance: reporter,
      action: "OwnerRefInvalidNamespace",
      reason: "OwnerRefInvalidNamespace",
      type: "Warning",
      note: `ownerRef ${identity} does not exist in namespace ""`,
      regarding: referenceTo(object),
    };
    try {
      writes.create(kind, namespace, event, { dryRun: false, fieldValidation: "Ignore" });
    } catch (err) {
      log.warn({ err, uid: object.metadata.uid }, "could not write an event; dropped");
    }
  }
}

/** As much of the name as a generated one keeps; a part that ends in a dot would make an invalid name. */
const nameStart = ({ metadata }: KubeObject): string => (metadata.name ?? "").slice(0, 50).replace(/[-.]+$/, "");

function referenceTo({ apiVersion, kind, metadata: { name, uid } }: KubeObject): NonNullable<Event["regarding"]> {
  return {
    ...(apiVersion !== undefined && { apiVersion }),
    ...(kind !== undefined && { kind }),
    ...(name !== undefined && { name }),
    ...(uid !== undefined && { uid }),
  };
}
