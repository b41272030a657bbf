// The Pod specification of core/v1 in Kubernetes 1.36, with the defaults that its API server sets in lists with keys.
// It has no enums and no bounds: the API server validates the Pod.
import {
  container,
  ephemeralContainer,
  localReference,
  nameValue,
  resources,
  securityProfile,
  seLinuxOptions,
  windowsOptions,
} from "./container.ts";
import { labelSelector, requirement } from "./selectors.ts";
import {
  atomicMapOf,
  atomicObject,
  bool,
  int32,
  int64,
  listMapOf,
  listOf,
  mapOf,
  object,
  quantity,
  text,
} from "./shapes.ts";
import { volume } from "./volume.ts";

const nodeSelectorTerm = atomicObject({ matchExpressions: listOf(requirement), matchFields: listOf(requirement) });

const podAffinityTerm = object({
  labelSelector,
  matchLabelKeys: listOf(text),
  mismatchLabelKeys: listOf(text),
  namespaceSelector: labelSelector,
  namespaces: listOf(text),
  "topologyKey*": text,
});

const podAffinity = object({
  preferredDuringSchedulingIgnoredDuringExecution: listOf(
    object({ "podAffinityTerm*": podAffinityTerm, "weight*": int32 }),
  ),
  requiredDuringSchedulingIgnoredDuringExecution: listOf(podAffinityTerm),
});

const affinity = object({
  nodeAffinity: object({
    preferredDuringSchedulingIgnoredDuringExecution: listOf(
      object({ "preference*": nodeSelectorTerm, "weight*": int32 }),
    ),
    requiredDuringSchedulingIgnoredDuringExecution: atomicObject({ "nodeSelectorTerms*": listOf(nodeSelectorTerm) }),
  }),
  podAffinity,
  podAntiAffinity: podAffinity,
});

const securityContext = object({
  appArmorProfile: securityProfile,
  fsGroup: int64,
  fsGroupChangePolicy: text,
  runAsGroup: int64,
  runAsNonRoot: bool,
  runAsUser: int64,
  seLinuxChangePolicy: text,
  seLinuxOptions,
  seccompProfile: securityProfile,
  supplementalGroups: listOf(int64),
  supplementalGroupsPolicy: text,
  sysctls: listOf(nameValue),
  windowsOptions,
});

const topologySpreadConstraint = object({
  labelSelector,
  matchLabelKeys: listOf(text),
  "maxSkew*": int32,
  minDomains: int32,
  nodeAffinityPolicy: text,
  nodeTaintsPolicy: text,
  "topologyKey*": text,
  "whenUnsatisfiable*": text,
});

export const podSpec = object({
  activeDeadlineSeconds: int64,
  affinity,
  automountServiceAccountToken: bool,
  "containers*": listMapOf(container, "name"),
  dnsConfig: object({
    nameservers: listOf(text),
    options: listOf(object({ name: text, value: text })),
    searches: listOf(text),
  }),
  dnsPolicy: text,
  enableServiceLinks: bool,
  ephemeralContainers: listMapOf(ephemeralContainer, "name"),
  evictionResponders: listMapOf(object({ "name*": text, priority: int32 }), "name"), // Kubernetes 1.37
  hostAliases: listMapOf(object({ hostnames: listOf(text), "ip*": text }), "ip"),
  hostIPC: bool,
  hostNetwork: bool,
  hostPID: bool,
  hostUsers: bool,
  hostname: text,
  hostnameOverride: text,
  imagePullSecrets: listMapOf(localReference, "name"),
  initContainers: listMapOf(container, "name"),
  nodeName: text,
  nodeSelector: atomicMapOf(text),
  os: object({ "name*": text }),
  overhead: mapOf(quantity),
  preemptionPolicy: text,
  priority: int32,
  priorityClassName: text,
  readinessGates: listOf(object({ "conditionType*": text })),
  resourceClaims: listMapOf(
    object({ "name*": text, resourceClaimName: text, resourceClaimTemplateName: text }),
    "name",
  ),
  resources,
  restartPolicy: text,
  runtimeClassName: text,
  schedulerName: text,
  schedulingGates: listMapOf(object({ "name*": text }), "name"),
  schedulingGroup: object({ podGroupName: text }),
  securityContext,
  serviceAccount: text,
  serviceAccountName: text,
  setHostnameAsFQDN: bool,
  shareProcessNamespace: bool,
  subdomain: text,
  terminationGracePeriodSeconds: int64,
  tolerations: listOf(object({ effect: text, key: text, operator: text, tolerationSeconds: int64, value: text })),
  topologySpreadConstraints: listMapOf(topologySpreadConstraint, "topologyKey", "whenUnsatisfiable"),
  volumes: listMapOf(volume, "name"),
});
