// Which Pods cannot have their memory kept, whatever their node can do. Each rule stays until a test shows that such a Pod works.
import type { Container, PodSpec, Volume } from "../../../api/kinds/pod.ts";
import type { MemoryRefusal, RefusalReason } from "./memory-provider.ts";

type Quantities = Readonly<Record<string, string | number>>;

/** An extended resource, such as a GPU, has the domain of its maker in its name. */
const firstDevice = (quantities: Quantities = {}): string | undefined =>
  Object.keys(quantities).find((name) => name.includes("/"));

const deviceOf = ({ resources }: Container): string | undefined =>
  firstDevice(resources?.limits) ?? firstDevice(resources?.requests);

const hasDevice = (container: Container): boolean =>
  deviceOf(container) !== undefined || (container.volumeDevices ?? []).length > 0;

const hasPostStart = ({ lifecycle }: Container): boolean => Boolean(lifecycle?.postStart);

/** The processes would come back to files of before that are not there any more. */
const endsWithPod = ({ emptyDir, ephemeral, csi }: Volume): boolean => Boolean(emptyDir ?? ephemeral ?? csi);

/** The restored processes keep the value of before, so a listener on it would be deaf. */
const asksForAddress = ({ env = [] }: Container): boolean =>
  env.some(({ valueFrom }) => /^status\.podIPs?$/.test(valueFrom?.fieldRef?.fieldPath ?? ""));

interface Rule {
  readonly reason: RefusalReason;
  readonly message: string;
  readonly refuses: (spec: PodSpec) => boolean;
}

const rules: readonly Rule[] = [
  {
    reason: "RuntimeClassNotSet",
    message: "runtimeClassName of the Pod is not set",
    refuses: ({ runtimeClassName }) => !runtimeClassName,
  },
  {
    reason: "HostNetwork",
    message: "the Pod uses the network of its node",
    refuses: ({ hostNetwork }) => hostNetwork === true,
  },
  {
    reason: "InitContainers",
    message: "the Pod has init containers or sidecar containers",
    refuses: ({ initContainers = [] }) => initContainers.length > 0,
  },
  {
    reason: "EphemeralContainers",
    message: "the Pod has ephemeral containers",
    refuses: ({ ephemeralContainers = [] }) => ephemeralContainers.length > 0,
  },
  {
    reason: "PostStartHook",
    message: "a container of the Pod has a postStart hook",
    refuses: ({ containers = [] }) => containers.some(hasPostStart),
  },
  {
    reason: "Devices",
    message: "the Pod uses GPUs or other devices",
    refuses: ({ containers = [], resourceClaims = [] }) => resourceClaims.length > 0 || containers.some(hasDevice),
  },
  {
    reason: "EphemeralVolumes",
    message: "the Pod has volumes that end with it: emptyDir, ephemeral or csi",
    refuses: ({ volumes = [] }) => volumes.some(endsWithPod),
  },
  {
    reason: "PodAddress",
    message:
      "a container of the Pod gets the address of the Pod in an environment variable, and a restored Pod has another one",
    refuses: ({ containers = [] }) => containers.some(asksForAddress),
  },
];

/** Why the memory of a Pod with this spec cannot be kept on any node: all reasons. */
export const refusalsOfSpec = (spec: PodSpec): readonly MemoryRefusal[] =>
  rules.filter(({ refuses }) => refuses(spec)).map(({ reason, message }) => ({ reason, message }));

/** Of a Pod's spec, enough for these rules. The store of all Pods keeps this part. */
export function partForRules(spec: Partial<PodSpec>): Partial<PodSpec> {
  const { runtimeClassName, hostNetwork, containers = [], volumes = [] } = spec;
  const { initContainers = [], ephemeralContainers = [], resourceClaims = [] } = spec;
  const refused = [hasPostStart, hasDevice, asksForAddress].flatMap((refuses) => containers.find(refuses) ?? []);
  return {
    ...(runtimeClassName && { runtimeClassName }),
    ...(hostNetwork && { hostNetwork }),
    ...(initContainers.length > 0 && { initContainers: initContainers.slice(0, 1).map(named) }),
    ...(ephemeralContainers.length > 0 && { ephemeralContainers: ephemeralContainers.slice(0, 1).map(named) }),
    ...(resourceClaims.length > 0 && { resourceClaims: resourceClaims.slice(0, 1).map(named) }),
    ...(volumes.some(endsWithPod) && { volumes: [{ name: "", emptyDir: {} }] }),
    ...(refused.length > 0 && { containers: refused.map(refusedPart) }),
  };
}

const named = ({ name }: { readonly name: string }) => ({ name });

function refusedPart(container: Container): Container {
  const device = deviceOf(container);
  return {
    name: container.name,
    ...(hasPostStart(container) && { lifecycle: { postStart: {} } }),
    ...(device !== undefined && { resources: { limits: { [device]: 1 } } }),
    ...(asksForAddress(container) && { env: [{ name: "", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }] }),
    ...(container.volumeDevices?.[0] && { volumeDevices: [{ name: container.volumeDevices[0].name }] }),
  };
}
