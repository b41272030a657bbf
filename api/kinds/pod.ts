// A Pod, with the fields that our programs read.
import type { Condition, KubeObject } from "./meta.ts";

export interface Pod extends KubeObject {
  readonly spec?: PodSpec;
  readonly status?: PodStatus;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly ephemeralContainers?: readonly { readonly name: string }[];
  readonly runtimeClassName?: string;
  readonly resourceClaims?: readonly { readonly name: string }[];
  readonly volumes?: readonly Volume[];
  readonly nodeName?: string;
  readonly restartPolicy?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly activeDeadlineSeconds?: number;
  readonly readinessGates?: readonly { readonly conditionType: string }[];
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly affinity?: object;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly hostname?: string;
  readonly hostNetwork?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly dnsPolicy?: string;
  readonly dnsConfig?: { readonly nameservers?: readonly string[] };
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly imagePullPolicy?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFromSource[];
  readonly ports?: readonly ContainerPort[];
  readonly volumeMounts?: readonly VolumeMount[];
  readonly volumeDevices?: readonly { readonly name: string }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly lifecycle?: { readonly preStop?: LifecycleHandler; readonly postStart?: LifecycleHandler };
  /** On an init container, `Always` makes it a sidecar. */
  readonly restartPolicy?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
  readonly resources?: {
    readonly limits?: Readonly<Record<string, string | number>>;
    readonly requests?: Readonly<Record<string, string | number>>;
  };
}

export interface ContainerPort {
  readonly containerPort: number;
  readonly name?: string;
  readonly protocol?: string;
  readonly hostPort?: number;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly resourceFieldRef?: ResourceFieldRef;
    readonly configMapKeyRef?: KeyRef;
    readonly secretKeyRef?: KeyRef;
  };
}

export interface ResourceFieldRef {
  /** `limits.cpu`, `requests.memory` and so on. */
  readonly resource: string;
  readonly containerName?: string;
  readonly divisor?: string | number;
}

export interface KeyRef {
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface EnvFromSource {
  readonly prefix?: string;
  readonly configMapRef?: { readonly name?: string; readonly optional?: boolean };
  readonly secretRef?: { readonly name?: string; readonly optional?: boolean };
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
  /** The same, with the values of variables in it. */
  readonly subPathExpr?: string;
  readonly readOnly?: boolean;
}

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

export interface Volume {
  readonly name: string;
  readonly emptyDir?: { readonly medium?: string; readonly sizeLimit?: string };
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly readOnly?: boolean };
  readonly configMap?: {
    readonly name?: string;
    readonly items?: readonly KeyToPath[];
    readonly defaultMode?: number;
    readonly optional?: boolean;
  };
  readonly secret?: {
    readonly secretName?: string;
    readonly items?: readonly KeyToPath[];
    readonly defaultMode?: number;
    readonly optional?: boolean;
  };
  readonly hostPath?: { readonly path: string; readonly type?: string };
  /** A volume claim that lives as long as the Pod. */
  readonly ephemeral?: object;
  /** A volume of a driver that lives as long as the Pod. */
  readonly csi?: object;
  readonly projected?: object;
  readonly downwardAPI?: object;
  /** The files of a container image. */
  readonly image?: object;
}

/** Port of a probe: a number, or the name of a port of the same container. */
export type IntOrString = number | string;

export interface HttpGetAction {
  readonly port: IntOrString;
  readonly path?: string;
  readonly host?: string;
  readonly scheme?: string;
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
}

export interface Probe {
  readonly httpGet?: HttpGetAction;
  readonly tcpSocket?: { readonly port: IntOrString; readonly host?: string };
  readonly exec?: { readonly command?: readonly string[] };
  readonly grpc?: { readonly port: number; readonly service?: string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
  readonly terminationGracePeriodSeconds?: number;
}

export interface LifecycleHandler {
  readonly exec?: { readonly command?: readonly string[] };
  readonly httpGet?: HttpGetAction;
  readonly sleep?: { readonly seconds: number };
}

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";

export interface PodStatus {
  readonly phase?: PodPhase;
  readonly conditions?: readonly PodCondition[];
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  readonly hostIP?: string;
  readonly startTime?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly observedGeneration?: number;
  /** Where the scheduler ends other Pods to make room for this one. */
  readonly nominatedNodeName?: string;
}

export interface PodCondition {
  readonly type: string;
  readonly status: Condition["status"];
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastProbeTime?: string;
  readonly observedGeneration?: number;
}

export interface ContainerStatus {
  readonly name: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly image: string;
  readonly imageID: string;
  readonly containerID?: string;
  readonly started?: boolean;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: {
    readonly exitCode: number;
    readonly signal?: number;
    readonly reason?: string;
    readonly message?: string;
    readonly startedAt?: string;
    readonly finishedAt?: string;
    readonly containerID?: string;
  };
}
