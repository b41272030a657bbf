// The built-in kinds, with the fields that our programs read. All other fields are passed on unchanged.
import type { KubeObject, ObjectMeta } from "./meta.ts";
import type { IntOrString, Pod, PodCondition } from "./pod.ts";
import type { ResourceType } from "./resource-type.ts";

export type * from "./pod.ts";

export interface PersistentVolumeClaimSpec {
  readonly accessModes?: readonly string[];
  readonly resources?: { readonly requests?: Readonly<Record<string, string | number>> };
  readonly storageClassName?: string;
  readonly volumeName?: string;
  readonly volumeMode?: string;
}

export interface PersistentVolumeClaim extends KubeObject {
  readonly spec?: PersistentVolumeClaimSpec;
  readonly status?: { readonly phase?: string };
}

export interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
  readonly targetPort?: IntOrString;
  readonly nodePort?: number;
}

export interface Service extends KubeObject {
  readonly spec?: {
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly ServicePort[];
    readonly type?: string;
    readonly externalName?: string;
    readonly externalIPs?: readonly string[];
    readonly publishNotReadyAddresses?: boolean;
  };
}

export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: string };
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

export interface Secret extends KubeObject {
  readonly type?: string;
  /** Values are base64. */
  readonly data?: Readonly<Record<string, string>>;
}

export interface ServiceAccount extends KubeObject {}

export interface Node extends KubeObject {
  readonly status?: { readonly conditions?: readonly PodCondition[] };
}

/** `events.k8s.io/v1`. */
export interface Event extends KubeObject {
  readonly eventTime?: string;
  readonly reportingController?: string;
  readonly reportingInstance?: string;
  readonly action?: string;
  readonly reason?: string;
  readonly type?: "Normal" | "Warning";
  readonly note?: string;
  readonly regarding?: ObjectReference;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    /** RFC 3339 with microseconds. */
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export interface CustomResourceDefinition extends KubeObject {
  readonly spec?: {
    readonly group: string;
    readonly scope: string;
    readonly names: {
      readonly kind: string;
      readonly plural: string;
      readonly singular?: string;
      readonly listKind?: string;
      readonly shortNames?: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly versions: readonly unknown[];
  };
}

const core = <T extends KubeObject>(kind: string, plural: string, namespaced = true): ResourceType<T> => ({
  group: "",
  version: "v1",
  kind,
  plural,
  namespaced,
});

export const podType = core<Pod>("Pod", "pods");
export const persistentVolumeClaimType = core<PersistentVolumeClaim>("PersistentVolumeClaim", "persistentvolumeclaims");
export const serviceType = core<Service>("Service", "services");
export const configMapType = core<ConfigMap>("ConfigMap", "configmaps");
export const secretType = core<Secret>("Secret", "secrets");
export const serviceAccountType = core<ServiceAccount>("ServiceAccount", "serviceaccounts");
export const namespaceType = core<Namespace>("Namespace", "namespaces", false);
export const nodeType = core<Node>("Node", "nodes", false);

export const eventType: ResourceType<Event> = {
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
};

export const leaseType: ResourceType<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
};

export const customResourceDefinitionType: ResourceType<CustomResourceDefinition> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

/** The metadata in the template of a Pod or volume claim. */
export type TemplateMeta = Pick<ObjectMeta, "name" | "labels" | "annotations">;
