import { usesTcpFront } from "../../../api/between-programs/tcp-front.ts";
import type { Service, ServicePort } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Sandbox } from "../../../api/kinds/sandbox.ts";
import { compactPatch, mapPatch } from "../../merge-patch.ts";
import { ownershipOf } from "../../ownership.ts";
import type { Action } from "../actions.ts";
import { isAdoptable, refusalToAdopt } from "../adoption.ts";
import type { Observed } from "../observed.ts";
import { trackingLabels } from "../pod-metadata.ts";
import { isFront, makeService, type ServiceForm, takeOverService } from "./make-service.ts";
import { frontPorts, hasPorts, servicePorts } from "./service-ports.ts";

/** The three values of `spec.service`: true, false, and absent, which keeps an existing Service. */
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

function wanted({ sandbox, service, hasActivators }: Observed): readonly Action[] {
  const form: ServiceForm = hasActivators && usesTcpFront(sandbox.spec) ? "front" : "headless";
  const create: Action = { do: "createService", service: makeService(sandbox, form) };
  if (!service) return [create];
  switch (ownershipOf(service, sandbox)) {
    case "owned":
      return hasForm(service, form)
        ? repair(sandbox, service, form, portsPatch(sandbox, service, form))
        : remake(service, create);
    case "foreign":
      return [refuse(refusalToAdopt("Service", service))];
    case "unowned":
      return takeOver(sandbox, service, form);
  }
}

/** An ExternalName leads out of the cluster, whatever else the Service says. */
const hasForm = (service: Stored<Service>, form: ServiceForm): boolean =>
  isFront(service) === (form === "front") && service.spec?.type !== "ExternalName";

/**
 * The address of a Service cannot be changed. A selector that is taken off leaves its slices behind, with addresses of
 * Pods that may be another's one day.
 */
function remake(service: Stored<Service>, create: Action): readonly Action[] {
  return service.metadata.deletionTimestamp ? [] : [{ do: "deleteService", service }, create];
}

function takeOver(sandbox: Stored<Sandbox>, service: Stored<Service>, form: ServiceForm): readonly Action[] {
  if (!isAdoptable(service, sandbox)) return [refuse(refusalToAdopt("Service", service))];
  const refusal = form === "front" ? refusalOfFront(service) : refusalOfHeadless(service);
  return [refusal ? refuse(refusal) : { do: "replaceService", service: takeOverService(service, sandbox, form) }];
}

/** A Service of another type leads elsewhere, whatever its selector: an ExternalName to a name outside the cluster. */
const isOfCluster = ({ spec }: Service): boolean => !spec?.type || spec.type === "ClusterIP";

const refusalOfType = ({ metadata: { name }, spec }: Stored<Service>): string =>
  `Service ${name} cannot be adopted: its type is ${spec?.type}, and ClusterIP is needed`;

function refusalOfHeadless(service: Stored<Service>): string | undefined {
  const { metadata, spec: { clusterIP } = {} } = service;
  if (!isOfCluster(service)) return refusalOfType(service);
  if (!clusterIP || clusterIP === "None") return undefined;
  return `Service ${metadata.name} cannot be adopted: its clusterIP ${clusterIP} is immutable and a headless Service is needed`;
}

function refusalOfFront(service: Stored<Service>): string | undefined {
  if (!isOfCluster(service)) return refusalOfType(service);
  if (isFront(service)) return undefined;
  const { metadata, spec: { clusterIP = "None" } = {} } = service;
  return `Service ${metadata.name} cannot be adopted: its clusterIP is ${clusterIP}, and one with an address and without a selector is needed`;
}

function unwanted({ sandbox, service }: Observed): readonly Action[] {
  if (!service || ownershipOf(service, sandbox) !== "owned" || service.metadata.deletionTimestamp) return [];
  return [{ do: "deleteService", service }];
}

function kept({ sandbox, service }: Observed): readonly Action[] {
  if (!service) return [];
  switch (ownershipOf(service, sandbox)) {
    case "owned":
      return repair(sandbox, service, "headless", undefined);
    case "foreign":
      return [refuse(refusalToAdopt("Service", service))];
    case "unowned":
      return [];
  }
}

/** Labels of other writers stay. The selector is set exactly, if the Service has one. */
function repair(
  sandbox: Stored<Sandbox>,
  service: Stored<Service>,
  form: ServiceForm,
  ports: readonly ServicePort[] | undefined,
): readonly Action[] {
  const tracking = trackingLabels(sandbox);
  const { labels } = service.metadata;
  const labelsPatch = mapPatch(labels, { ...labels, ...tracking });
  const selector = form === "headless" ? mapPatch(service.spec?.selector, tracking) : undefined;
  const patch = compactPatch({
    metadata: labelsPatch && { labels: labelsPatch },
    spec: compactPatch({ selector, ports }),
  });
  return patch ? [{ do: "patchService", service, patch }] : [];
}

/** Replaces all ports when the fields that the controller sets differ. */
function portsPatch(
  sandbox: Stored<Sandbox>,
  service: Stored<Service>,
  form: ServiceForm,
): readonly ServicePort[] | undefined {
  const ports = (form === "front" ? frontPorts : servicePorts)(sandbox.spec.podTemplate.spec);
  return hasPorts(service.spec?.ports ?? [], ports) ? undefined : ports;
}

const refuse = (why: string): Action => ({ do: "refuse", part: "service", why, untilChanged: false });
