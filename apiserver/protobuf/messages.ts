// The field numbers of generated.proto, for the kinds that kubectl's `create` commands send, and for the options of deletions.

export type FieldType = "string" | "bytes" | "integer" | "boolean" | "time" | "intOrString" | Message;

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly shape?: "list" | "map";
  /** Whether zero and false are real values; otherwise they mean unset. */
  readonly optional?: boolean;
}

export type Message = Readonly<Record<number, Field>>;

const one = (name: string, type: FieldType = "string"): Field => ({ name, type });
const optional = (name: string, type: FieldType): Field => ({ name, type, optional: true });
const listOf = (name: string, type: FieldType = "string"): Field => ({ name, type, shape: "list" });
const mapOf = (name: string, type: FieldType = "string"): Field => ({ name, type, shape: "map" });

const ownerReference: Message = {
  1: one("kind"),
  3: one("name"),
  4: one("uid"),
  5: one("apiVersion"),
  6: optional("controller", "boolean"),
  7: optional("blockOwnerDeletion", "boolean"),
};

const metadata = one("metadata", {
  1: one("name"),
  2: one("generateName"),
  3: one("namespace"),
  5: one("uid"),
  6: one("resourceVersion"),
  7: one("generation", "integer"),
  8: one("creationTimestamp", "time"),
  9: one("deletionTimestamp", "time"),
  10: optional("deletionGracePeriodSeconds", "integer"),
  11: mapOf("labels"),
  12: mapOf("annotations"),
  13: listOf("ownerReferences", ownerReference),
  14: listOf("finalizers"),
});

const servicePort: Message = {
  1: one("name"),
  2: one("protocol"),
  3: one("port", "integer"),
  4: one("targetPort", "intOrString"),
  5: one("nodePort", "integer"),
  6: one("appProtocol"),
};

const serviceSpec: Message = {
  1: listOf("ports", servicePort),
  2: mapOf("selector"),
  3: one("clusterIP"),
  4: one("type"),
  5: listOf("externalIPs"),
  7: one("sessionAffinity"),
  8: one("loadBalancerIP"),
  9: listOf("loadBalancerSourceRanges"),
  10: one("externalName"),
  11: one("externalTrafficPolicy"),
  13: one("publishNotReadyAddresses", "boolean"),
  17: one("ipFamilyPolicy"),
  18: listOf("clusterIPs"),
  19: listOf("ipFamilies"),
};

/** By `apiVersion/kind`. */
export const objectMessages: Readonly<Record<string, Message>> = {
  "v1/ConfigMap": {
    1: metadata,
    2: mapOf("data"),
    3: mapOf("binaryData", "bytes"),
    4: optional("immutable", "boolean"),
  },
  "v1/Namespace": { 1: metadata, 2: one("spec", { 1: listOf("finalizers") }) },
  "v1/Secret": {
    1: metadata,
    2: mapOf("data", "bytes"),
    3: one("type"),
    4: mapOf("stringData"),
    5: optional("immutable", "boolean"),
  },
  "v1/Service": { 1: metadata, 2: one("spec", serviceSpec) },
  "v1/ServiceAccount": {
    1: metadata,
    3: listOf("imagePullSecrets", { 1: one("name") }),
    4: optional("automountServiceAccountToken", "boolean"),
  },
};

/** A client sends them in the version of the kind that it deletes. */
export const deleteOptions: Message = {
  1: optional("gracePeriodSeconds", "integer"),
  2: one("preconditions", { 1: optional("uid", "string"), 2: optional("resourceVersion", "string") }),
  3: optional("orphanDependents", "boolean"),
  4: optional("propagationPolicy", "string"),
  5: listOf("dryRun"),
  6: optional("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
};

/** `runtime.Unknown`, which has the type of an object. */
export const envelope: Message = {
  1: one("typeMeta", { 1: one("apiVersion"), 2: one("kind") }),
  2: one("raw", "bytes"),
};
