import type { Service } from "../../api/core.ts";
import type { Stored } from "../../api/meta.ts";
import { type Sandbox, sandboxType } from "../../api/sandbox.ts";
import { controllerReference, withController } from "../ownership.ts";
import { trackingLabels } from "./pod-metadata.ts";
import { servicePorts } from "./service-ports.ts";

/** The headless Service of a sandbox: its name in the cluster's DNS leads to the Pod's own address. */
export function makeService(sandbox: Stored<Sandbox>): Service {
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
    spec: { clusterIP: "None", ...headlessSpec(sandbox) },
  };
}

/** A Service that was made for the sandbox beforehand, taken over whole. */
export function takeOverService(service: Stored<Service>, sandbox: Stored<Sandbox>): Stored<Service> {
  const { metadata } = service;
  return {
    ...service,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, ...trackingLabels(sandbox) },
      ownerReferences: withController(service, controllerReference(sandboxType, sandbox)),
    },
    spec: { ...service.spec, ...headlessSpec(sandbox) },
  };
}

const headlessSpec = (sandbox: Stored<Sandbox>) => ({
  selector: trackingLabels(sandbox),
  ports: servicePorts(sandbox.spec.podTemplate.spec),
});
