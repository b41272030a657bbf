import type { EndpointPort, EndpointSlice } from "../../api/between-programs/tcp-front.ts";
import type { Pod, Service, ServicePort } from "../../api/kinds/core.ts";
import { isConditionTrue } from "../../api/rules/conditions.ts";

/**
 * The slices that a cluster's EndpointSlice controller would write for a Service with a selector, from all Pods of its
 * namespace: one slice for each Pod, since a named port may have another number in each.
 */
export function slicesOfSelected(service: Service, pods: readonly Pod[]): readonly EndpointSlice[] {
  const { selector, ports = [], publishNotReadyAddresses = false } = service.spec ?? {};
  // An empty selector counts as absent: another program writes the slices.
  if (!selector || Object.keys(selector).length === 0) return [];
  return pods
    .filter((pod) => isSelected(pod, selector))
    .flatMap((pod) => {
      const address = addressOf(pod);
      if (!address) return [];
      const ready = isConditionTrue(pod.status?.conditions, "Ready");
      const terminating = pod.metadata.deletionTimestamp !== undefined;
      const conditions = { ready: publishNotReadyAddresses || (ready && !terminating), serving: ready, terminating };
      return [
        {
          metadata: pod.metadata,
          addressType: "IPv4" as const,
          endpoints: [{ addresses: [address], conditions }],
          ports: ports.flatMap((port) => portOf(port, pod)),
        },
      ];
    });
}

const isSelected = ({ metadata }: Pod, selector: Readonly<Record<string, string>>): boolean =>
  Object.entries(selector).every(([label, value]) => metadata.labels?.[label] === value);

/** The address of an ended Pod may belong to another Pod. */
function addressOf({ status }: Pod): string | undefined {
  return status?.phase === "Succeeded" || status?.phase === "Failed" ? undefined : status?.podIP;
}

/** The Pod's port for a port of the Service; undefined for a name that no container declares. */
function portOf(
  { name = "", port, protocol = "TCP", targetPort = port }: ServicePort,
  pod: Pod,
): readonly EndpointPort[] {
  if (typeof targetPort === "number") return [{ name, port: targetPort, protocol }];
  const declared = (pod.spec?.containers ?? []).flatMap(({ ports = [] }) => ports);
  const found = declared.find((one) => one.name === targetPort && (one.protocol ?? "TCP") === protocol);
  return found ? [{ name, port: found.containerPort, protocol }] : [];
}
