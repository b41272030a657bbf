import type { Service, ServicePort } from "../../api/core.ts";
import type { Stored } from "../../api/meta.ts";
import type { Sandbox } from "../../api/sandbox.ts";
import { compactPatch, mapPatch } from "../merge-patch.ts";
import { ownershipOf } from "../ownership.ts";
import { semanticallyEqual } from "../semantic-equality.ts";
import type { Action } from "./actions.ts";
import { isAdoptable, refusalToAdopt } from "./adoption.ts";
import { makeService, takeOverService } from "./make-service.ts";
import type { Observed } from "./observed.ts";
import { trackingLabels } from "./pod-metadata.ts";
import { servicePorts } from "./service-ports.ts";

/** The three answers to `spec.service`: wanted, unwanted, and nothing said, which keeps one that is there. */
export function decideService(observed: Observed): readonly Action[] {
  switch (observed.sandbox.spec.service ?? undefined) {
    case true:
      return wanted(observed);
    case false:
      return unwanted(observed);
    case undefined:
      return kept(observed);
  }
}

function wanted({ sandbox, service }: Observed): readonly Action[] {
  if (!service) return [{ do: "createService", service: makeService(sandbox) }];
  switch (ownershipOf(service, sandbox)) {
    case "owned":
      return repair(sandbox, service, portsPatch(sandbox, service));
    case "foreign":
      return [refuse(refusalToAdopt("Service", service))];
    case "unowned":
      return takeOver(sandbox, service);
  }
}

function takeOver(sandbox: Stored<Sandbox>, service: Stored<Service>): readonly Action[] {
  if (!isAdoptable(service, sandbox)) return [refuse(refusalToAdopt("Service", service))];
  const { clusterIP } = service.spec ?? {};
  if (clusterIP && clusterIP !== "None") {
    const why = `Service ${service.metadata.name} cannot be adopted: its clusterIP ${clusterIP} is immutable and a headless Service is needed`;
    return [refuse(why)];
  }
  return [{ do: "replaceService", service: takeOverService(service, sandbox) }];
}

function unwanted({ sandbox, service }: Observed): readonly Action[] {
  if (!service || ownershipOf(service, sandbox) !== "owned" || service.metadata.deletionTimestamp) return [];
  return [{ do: "deleteService", service }];
}

function kept({ sandbox, service }: Observed): readonly Action[] {
  if (!service) return [];
  switch (ownershipOf(service, sandbox)) {
    case "owned":
      return repair(sandbox, service, undefined);
    case "foreign":
      return [refuse(refusalToAdopt("Service", service))];
    case "unowned":
      return [];
  }
}

/** Labels of others stay; the selector is exactly ours. */
function repair(
  sandbox: Stored<Sandbox>,
  service: Stored<Service>,
  ports: readonly ServicePort[] | undefined,
): readonly Action[] {
  const tracking = trackingLabels(sandbox);
  const { labels } = service.metadata;
  const labelsPatch = mapPatch(labels, { ...labels, ...tracking });
  const patch = compactPatch({
    metadata: labelsPatch && { labels: labelsPatch },
    spec: compactPatch({ selector: mapPatch(service.spec?.selector, tracking), ports }),
  });
  return patch ? [{ do: "patchService", service, patch }] : [];
}

/** All ports when they differ in what we give to them; what the server adds (nodePort and the like) does not count. */
function portsPatch(sandbox: Stored<Sandbox>, service: Stored<Service>): readonly ServicePort[] | undefined {
  const ports = servicePorts(sandbox.spec.podTemplate.spec);
  return semanticallyEqual((service.spec?.ports ?? []).map(ourPart), ports) ? undefined : ports;
}

const ourPart = ({ name, port, protocol, targetPort }: ServicePort): ServicePort => ({
  ...(name && { name }),
  port,
  protocol: protocol || "TCP",
  targetPort: targetPort ?? port,
});

const refuse = (why: string): Action => ({ do: "refuse", part: "service", why, untilChanged: false });
