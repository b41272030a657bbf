import type { Container, Pod, Probe } from "../../api/kinds/core.ts";
import type { KubeObject, Stored } from "../../api/kinds/meta.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import type { SandboxClaim } from "../../api/kinds/sandbox-claim.ts";
import { memoryImageAnnotation } from "../../api/rules/keys.ts";
import { controllerOfKind } from "../../api/rules/ownership.ts";
import { isSmallRequest } from "../../api/rules/probe-request.ts";

// What the activator keeps of the objects that it watches: all Pods of the cluster are among them, and an object has up to
// 1.5 MiB. It only reads these objects, so what is left out is never written back.

/** A Pod of a sandbox, with what routing, readiness and failures read; of any other Pod only its addresses and its end. */
export function slimPod(pod: Stored<Pod>): Stored<Pod> {
  const { spec, status } = pod;
  const metadata = slimMetadata(pod.metadata);
  const controller = controllerOfKind(pod, sandboxType);
  const network = spec?.hostNetwork ? { hostNetwork: true } : {};
  if (!controller) {
    const { phase, podIP, podIPs } = status ?? {};
    const seen = { ...(phase && { phase }), ...(podIP && { podIP }), ...(podIPs && { podIPs }) };
    return { ...pod, metadata, spec: { containers: [], ...network }, status: seen };
  }
  return {
    ...pod,
    metadata: { ...metadata, ...withMemory(pod), ownerReferences: [controller] },
    spec: {
      containers: (spec?.containers ?? []).map(slimContainer),
      ...network,
      ...(spec?.initContainers && { initContainers: spec.initContainers.filter(isSidecar).map(slimContainer) }),
      ...(spec?.restartPolicy && { restartPolicy: spec.restartPolicy }),
      ...(spec?.readinessGates && { readinessGates: spec.readinessGates.slice(0, 1) }),
    },
  };
}

/** That it is to be restored, and not from what. */
const withMemory = ({ metadata: { annotations } }: Stored<Pod>) =>
  annotations?.[memoryImageAnnotation] === undefined ? {} : { annotations: { [memoryImageAnnotation]: "" } };

type SlimMetadata = Omit<Stored<KubeObject>["metadata"], "labels" | "annotations" | "ownerReferences">;

/** The name of its sandbox is all that is read. */
export function slimClaim({ status, ...claim }: Stored<SandboxClaim>): Stored<SandboxClaim> {
  const { warmPoolRef } = claim.spec;
  return {
    ...claim,
    metadata: slimMetadata(claim.metadata),
    spec: { warmPoolRef },
    ...(status?.sandbox && { status: { sandbox: status.sandbox } }),
  };
}

/** Identity, versions and times. */
export function slimMetadata(metadata: Stored<KubeObject>["metadata"]): SlimMetadata {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = metadata;
  return {
    ...{ name, uid, resourceVersion, creationTimestamp },
    ...(namespace !== undefined && { namespace }),
    ...(generation !== undefined && { generation }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
  };
}

const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === "Always";

function slimContainer({ name, ports, restartPolicy, readinessProbe }: Container): Container {
  return {
    name,
    ...(ports && {
      ports: ports.map(({ name: portName, containerPort }) => ({ ...(portName && { name: portName }), containerPort })),
    }),
    ...(restartPolicy && { restartPolicy }),
    ...(readinessProbe && { readinessProbe: slimProbe(readinessProbe) }),
  };
}

/** Empty for a probe that the activator cannot run itself: the Pod then waits for the kubelet. */
function slimProbe({ httpGet, tcpSocket, timeoutSeconds }: Probe): Probe {
  if (httpGet && !isSmallRequest(httpGet)) return {};
  return {
    ...(httpGet && { httpGet }),
    ...(tcpSocket && { tcpSocket }),
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
  };
}
