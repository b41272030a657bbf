import { isConditionTrue } from "../../api/conditions.ts";
import type { Pod, Service, ServicePort } from "../../api/core.ts";
import type { EndpointPort, EndpointSlice } from "../../api/tcp-front.ts";

/**
 * What the endpoint slice controller of a cluster would write for a Service with a selector, of all Pods of its namespace:
 * one slice a Pod, for a named port may be another number in each.
 */
export function slicesOfSelected(service: Service, pods: readonly Pod[]): readonly EndpointSlice[] {
  const { selector, ports = [], publishNotReadyAddresses = false } = service.spec ?? {};
  // A Service with an empty selector is one without: somebody else writes its slices.
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

/** The address of a Pod that has ended may be another's. */
function addressOf({ status }: Pod): string | undefined {
  return status?.phase === "Succeeded" || status?.phase === "Failed" ? undefined : status?.podIP;
}

/** Where a Pod serves the port of a Service; a name that none of its containers has is served nowhere. */
function portOf(
  { name = "", port, protocol = "TCP", targetPort = port }: ServicePort,
  pod: Pod,
): readonly EndpointPort[] {
  if (typeof targetPort === "number") return [{ name, port: targetPort, protocol }];
  const declared = (pod.spec?.containers ?? []).flatMap(({ ports = [] }) => ports);
  const found = declared.find((one) => one.name === targetPort && (one.protocol ?? "TCP") === protocol);
  return found ? [{ name, port: found.containerPort, protocol }] : [];
}
