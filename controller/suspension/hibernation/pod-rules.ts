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

const kindsOf = ({ name: _, ...kinds }: Volume): readonly string[] =>
  Object.entries(kinds).flatMap(([kind, settings]) => (settings === undefined || settings === null ? [] : [kind]));

const ephemeralKinds: ReadonlySet<string> = new Set(["emptyDir", "ephemeral", "csi", "gitRepo"]);

/** Volumes whose files outlive the Pod, or are made anew from objects that do. */
const knownKinds: ReadonlySet<string> = new Set([
  ...["persistentVolumeClaim", "hostPath"],
  ...["configMap", "secret", "projected", "downwardAPI"],
]);

/** The processes would come back to files of before that are not there any more. Without a kind, a volume is an emptyDir. */
function endsWithPod(volume: Volume): boolean {
  const kinds = kindsOf(volume);
  return kinds.length === 0 || kinds.some((kind) => ephemeralKinds.has(kind));
}

/** Such as the files of a container image, whose tag may be moved meanwhile. */
const isOfUnknownKind = (volume: Volume): boolean =>
  kindsOf(volume).some((kind) => !knownKinds.has(kind) && !ephemeralKinds.has(kind));

/** The restored processes keep the value of before, so a listener on it would be deaf. */
const asksForAddress = ({ env = [] }: Container): boolean =>
  env.some(({ valueFrom }) => /^status\.podIPs?$/.test(valueFrom?.fieldRef?.fieldPath ?? ""));

/** The kubelet replaces these names by values. Two dollars stand for one. */
const usedNames = (text = ""): readonly string[] =>
  [...text.matchAll(/\$(?:\$|\(([^)]*)(\)?))/g)].flatMap(([, name, end]) => (name !== undefined && end ? [name] : []));

/** The UID of a Pod is its own, and so are annotations: networks, admission webhooks and the controller write them. */
const ofOnePod = /^metadata\.(?:uid$|annotations\b)/;

/** Whether what a container runs, or mounts, has a value in it that each Pod has for itself. The next Pod would run something else. */
function runsItsIdentity({ command = [], args = [], volumeMounts = [], env = [] }: Container): boolean {
  const own = new Set<string>();
  for (const { name, value, valueFrom } of env) {
    const isOwn = ofOnePod.test(valueFrom?.fieldRef?.fieldPath ?? "") || usedNames(value).some((used) => own.has(used));
    // The last of a name counts.
    if (isOwn) own.add(name);
    else own.delete(name);
  }
  const expanded = [...command, ...args, ...volumeMounts.map(({ subPathExpr }) => subPathExpr)];
  return expanded.some((text) => usedNames(text).some((name) => own.has(name)));
}

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
    message: "the Pod has volumes that end with it: emptyDir, ephemeral, csi or gitRepo",
    refuses: ({ volumes = [] }) => volumes.some(endsWithPod),
  },
  {
    reason: "UnknownVolumes",
    message: `the Pod has volumes of kinds other than ${[...knownKinds].join(", ")}; nobody knows whether the next Pod has the same files`,
    refuses: ({ volumes = [] }) => volumes.some(isOfUnknownKind),
  },
  {
    reason: "PodAddress",
    message:
      "a container of the Pod gets the address of the Pod in an environment variable, and a restored Pod has another one",
    refuses: ({ containers = [] }) => containers.some(asksForAddress),
  },
  {
    reason: "PodIdentity",
    message:
      "command, args or subPathExpr of a container have the UID or an annotation of the Pod in them, so the next Pod would run something else",
    refuses: ({ containers = [] }) => containers.some(runsItsIdentity),
  },
];

/** Why the memory of a Pod with this spec cannot be kept on any node: all reasons. */
export const refusalsOfSpec = (spec: PodSpec): readonly MemoryRefusal[] =>
  rules.filter(({ refuses }) => refuses(spec)).map(({ reason, message }) => ({ reason, message }));

/** Of a Pod's spec, enough for these rules. The store of all Pods keeps this part. */
export function partForRules(spec: Partial<PodSpec>): Partial<PodSpec> {
  const { runtimeClassName, hostNetwork, containers = [], volumes = [] } = spec;
  const { initContainers = [], ephemeralContainers = [], resourceClaims = [] } = spec;
  const ofContainers = [hasPostStart, hasDevice, asksForAddress, runsItsIdentity];
  const refused = [...new Set(ofContainers.flatMap((refuses) => containers.find(refuses) ?? []))];
  const refusedVolumes = [
    ...(volumes.some(endsWithPod) ? [{ name: "", emptyDir: {} }] : []),
    ...(volumes.some(isOfUnknownKind) ? [{ name: "", image: {} }] : []),
  ];
  return {
    ...(runtimeClassName && { runtimeClassName }),
    ...(hostNetwork && { hostNetwork }),
    ...(initContainers.length > 0 && { initContainers: initContainers.slice(0, 1).map(named) }),
    ...(ephemeralContainers.length > 0 && { ephemeralContainers: ephemeralContainers.slice(0, 1).map(named) }),
    ...(resourceClaims.length > 0 && { resourceClaims: resourceClaims.slice(0, 1).map(named) }),
    ...(refusedVolumes.length > 0 && { volumes: refusedVolumes }),
    ...(refused.length > 0 && { containers: refused.map(refusedPart) }),
  };
}

const named = ({ name }: { readonly name: string }) => ({ name });

const variableOf = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });

function refusedPart(container: Container): Container {
  const device = deviceOf(container);
  const isItself = runsItsIdentity(container);
  const env = [
    ...(asksForAddress(container) ? [variableOf("", "status.podIP")] : []),
    ...(isItself ? [variableOf("UID", "metadata.uid")] : []),
  ];
  return {
    name: container.name,
    ...(hasPostStart(container) && { lifecycle: { postStart: {} } }),
    ...(device !== undefined && { resources: { limits: { [device]: 1 } } }),
    ...(env.length > 0 && { env }),
    ...(isItself && { args: ["$(UID)"] }),
    ...(container.volumeDevices?.[0] && { volumeDevices: [{ name: container.volumeDevices[0].name }] }),
  };
}
