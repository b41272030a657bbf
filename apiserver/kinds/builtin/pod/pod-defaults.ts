import type { Container, Pod, PodSpec, Probe, Volume } from "../../../../api/kinds/core.ts";

/** A Pod's spec with the fields that an API server sets and our programs do not read. */
type WireSpec = PodSpec & {
  readonly schedulerName?: string;
  readonly securityContext?: object;
  readonly enableServiceLinks?: boolean;
  readonly priority?: number;
  readonly preemptionPolicy?: string;
  readonly serviceAccount?: string;
  readonly tolerations?: readonly Toleration[];
};

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

type WireContainer = Container & {
  readonly imagePullPolicy?: string;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
};

/** Sets the defaults of an API server and its usual admission plugins for a Pod. */
export function completePod(pod: Pod): Pod {
  if (!pod.spec) return pod;
  const spec = completeSpec(pod.spec);
  const status = { ...pod.status, phase: pod.status?.phase ?? "Pending", qosClass: qosClass(spec) };
  return { ...pod, spec, status } as Pod;
}

function completeSpec(spec: WireSpec): WireSpec {
  const serviceAccountName = spec.serviceAccountName || spec.serviceAccount || "default";
  return {
    ...spec,
    containers: Array.isArray(spec.containers) ? spec.containers.map(completeContainer) : spec.containers,
    ...(Array.isArray(spec.initContainers) && { initContainers: spec.initContainers.map(completeContainer) }),
    ...(Array.isArray(spec.volumes) && { volumes: spec.volumes.map(completeVolume) }),
    restartPolicy: spec.restartPolicy || "Always",
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 30,
    dnsPolicy: spec.dnsPolicy || "ClusterFirst",
    serviceAccountName,
    serviceAccount: serviceAccountName,
    securityContext: spec.securityContext ?? {},
    schedulerName: spec.schedulerName || "default-scheduler",
    enableServiceLinks: spec.enableServiceLinks ?? true,
    priority: spec.priority ?? 0,
    preemptionPolicy: spec.preemptionPolicy ?? "PreemptLowerPriority",
    tolerations: withNodeTolerations(spec.tolerations ?? []),
  };
}

const nodeTroubles = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/** By default a Pod tolerates a not-ready or unreachable node for five minutes. */
function withNodeTolerations(tolerations: readonly Toleration[]): readonly Toleration[] {
  const missing = nodeTroubles.filter(
    (trouble) =>
      !tolerations.some(({ key, effect }) => (!key || key === trouble) && (!effect || effect === "NoExecute")),
  );
  return [
    ...tolerations,
    ...missing.map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 })),
  ];
}

function completeContainer(container: WireContainer): WireContainer {
  const probes = {
    ...(container.startupProbe && { startupProbe: completeProbe(container.startupProbe) }),
    ...(container.readinessProbe && { readinessProbe: completeProbe(container.readinessProbe) }),
    ...(container.livenessProbe && { livenessProbe: completeProbe(container.livenessProbe) }),
  };
  return {
    ...container,
    ...probes,
    ...(Array.isArray(container.env) && { env: container.env.map(completeEnv) }),
    resources: withRequests(container.resources ?? {}),
    imagePullPolicy: container.imagePullPolicy || pullPolicy(container.image ?? ""),
    terminationMessagePath: container.terminationMessagePath || "/dev/termination-log",
    terminationMessagePolicy: container.terminationMessagePolicy || "File",
  };
}

function completeEnv(variable: NonNullable<Container["env"]>[number]): NonNullable<Container["env"]>[number] {
  const fieldRef = variable.valueFrom?.fieldRef;
  if (!fieldRef) return variable;
  return {
    ...variable,
    valueFrom: { ...variable.valueFrom, fieldRef: { apiVersion: "v1", ...fieldRef } as typeof fieldRef },
  };
}

/** By default a container requests its limits. */
function withRequests(resources: NonNullable<Container["resources"]>): NonNullable<Container["resources"]> {
  if (!resources.limits) return resources;
  return { ...resources, requests: { ...resources.limits, ...resources.requests } };
}

/** An image with a mutable tag is pulled each time. */
function pullPolicy(image: string): string {
  const tag = /:([^/@:]+)$/.exec(image.split("@")[0] ?? "")?.[1];
  return image.includes("@") || (tag !== undefined && tag !== "latest") ? "IfNotPresent" : "Always";
}

function completeProbe(probe: Probe): Probe {
  const { httpGet } = probe;
  return {
    ...probe,
    ...(httpGet && { httpGet: { ...httpGet, path: httpGet.path || "/", scheme: httpGet.scheme || "HTTP" } }),
    timeoutSeconds: probe.timeoutSeconds || 1,
    periodSeconds: probe.periodSeconds || 10,
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
  };
}

const defaultFileMode = 0o644;
const withFileMode = ["configMap", "secret", "downwardAPI", "projected"];

function completeVolume(volume: Volume): Volume {
  const { name, ...sources } = volume;
  if (Object.keys(sources).length === 0) return { name, emptyDir: {} };
  const completed = Object.entries(sources).map(([kind, source]) => {
    if (withFileMode.includes(kind)) return [kind, { defaultMode: defaultFileMode, ...source }];
    return kind === "hostPath" ? [kind, { type: "", ...source }] : [kind, source];
  });
  return { ...volume, ...Object.fromEntries(completed) };
}

/** The order in which Pods are evicted from a node under pressure. */
function qosClass({ containers = [], initContainers = [] }: PodSpec): string {
  const all = [...(Array.isArray(containers) ? containers : []), ...initContainers];
  const resources = all.map((container) => container.resources ?? {});
  if (resources.every(({ limits, requests }) => isEmpty(limits) && isEmpty(requests))) return "BestEffort";
  const guaranteed = resources.every(({ limits = {}, requests = {} }) =>
    ["cpu", "memory"].every((name) => limits[name] !== undefined && limits[name] === requests[name]),
  );
  return guaranteed ? "Guaranteed" : "Burstable";
}

const isEmpty = (amounts: object | undefined): boolean => Object.keys(amounts ?? {}).length === 0;
