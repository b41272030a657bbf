import type { Service } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { controllerReference, takenOverBy } from "../../ownership.ts";
import { trackingLabels } from "../pod-metadata.ts";
import { frontPorts, servicePorts } from "./service-ports.ts";

/**
 * Where a sandbox's name in the cluster's DNS leads.
 *
 * - `headless`: to the Pod's own address;
 * - `front`: an address of the cluster, and behind it the activators, which an EndpointSlice of ours lists.
 */
export type ServiceForm = "headless" | "front";

export function makeService(sandbox: Stored<Sandbox>, form: ServiceForm): Service {
  const { name, namespace = "" } = sandbox.metadata;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name,
      namespace,
      labels: trackingLabels(sandbox),
      ownerReferences: [controllerReference(sandboxType, sandbox)],
    },
    spec: { ...(form === "headless" && { clusterIP: "None" }), ...specOf(sandbox, form) },
  };
}

/** A Service that was made for the sandbox beforehand, taken over whole. */
export function takeOverService(
  service: Stored<Service>,
  sandbox: Stored<Sandbox>,
  form: ServiceForm,
): Stored<Service> {
  const { metadata } = service;
  return {
    ...service,
    metadata: {
      ...metadata,
      ...takenOverBy(controllerReference(sandboxType, sandbox), service),
      labels: { ...metadata.labels, ...trackingLabels(sandbox) },
    },
    spec: { ...service.spec, ...specOf(sandbox, form) },
  };
}

function specOf(sandbox: Stored<Sandbox>, form: ServiceForm): Pick<NonNullable<Service["spec"]>, "selector" | "ports"> {
  const { spec } = sandbox.spec.podTemplate;
  return form === "front"
    ? { ports: frontPorts(spec) }
    : { selector: trackingLabels(sandbox), ports: servicePorts(spec) };
}

/** Whether a Service has an address of the cluster and no selector, so that only slices of ours say where it leads. */
export const isFront = ({ spec }: Pick<Service, "spec">): boolean =>
  Boolean(spec?.clusterIP) && spec?.clusterIP !== "None" && Object.keys(spec?.selector ?? {}).length === 0;
