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

/**
 * Whether a text has one of these names as `$(name)`, which the kubelet replaces by a value. Two dollars stand for one. A tenant chooses the
 * text, and each event of its Pod asks about it: so nothing is made of it but the names.
 */
function uses(names: ReadonlySet<string>, text = ""): boolean {
  if (names.size === 0) return false;
  let from = 0;
  for (let open = text.indexOf("$("); open >= 0; open = text.indexOf("$(", from)) {
    let first = open;
    while (first > from && text[first - 1] === "$") first -= 1;
    from = open + 2;
    if ((open - first) % 2 === 1) continue;
    const end = text.indexOf(")", from);
    if (end < 0) return false;
    if (names.has(text.slice(from, end))) return true;
    from = end + 1;
  }
  return false;
}

/** The UID of a Pod is its own, and so are annotations: networks, admission webhooks and the controller write them. */
const ofOnePod = /^metadata\.(?:uid$|annotations\b)/;

/** Whether what a container runs, or mounts, has a value in it that each Pod has for itself. The next Pod would run something else. */
function runsItsIdentity({ command = [], args = [], volumeMounts = [], env = [] }: Container): boolean {
  const own = new Set<string>();
  for (const { name, value, valueFrom } of env) {
    const isOwn = ofOnePod.test(valueFrom?.fieldRef?.fieldPath ?? "") || uses(own, value);
    // The last of a name counts.
    if (isOwn) own.add(name);
    else own.delete(name);
  }
  const expanded = [...command, ...args, ...volumeMounts.map(({ subPathExpr }) => subPathExpr)];
  return own.size > 0 && expanded.some((text) => uses(own, text));
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

/** Of a spec in a store, which nobody changes. Each pass asks several times. */
const known = new WeakMap<PodSpec, readonly MemoryRefusal[]>();

/** Why the memory of a Pod with this spec cannot be kept on any node: all reasons. */
export function refusalsOfSpec(spec: PodSpec): readonly MemoryRefusal[] {
  const before = known.get(spec);
  if (before) return before;
  const refusals = rules.filter(({ refuses }) => refuses(spec)).map(({ reason, message }) => ({ reason, message }));
  known.set(spec, refusals);
  return refusals;
}

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
