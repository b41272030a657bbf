import {
  bool,
  described,
  int32,
  intOrString,
  listMapOf,
  listOf,
  mapOf,
  object,
  oneOf,
  text,
  withDefault,
} from "../../../api/crd/shapes.ts";
import { type Service, type ServicePort, serviceType } from "../../../api/kinds/core.ts";
import type { KubeObject } from "../../../api/kinds/meta.ts";
import type { Admission, ServedKind } from "../../served-kind.ts";
import { serviceName } from "../metadata/names.ts";
import { kindSchema } from "../metadata/schema.ts";
import { anything, conditions } from "../schema/shapes.ts";
import { builtinKind } from "./builtin-kind.ts";
import type { ClusterIps } from "./cluster-ips.ts";
import { ageColumn, column, keyValues, nameColumn, orNone, wideColumn } from "./columns.ts";
import { checkService } from "./service-check.ts";

const port = object({
  name: described("Required if there are several ports.", text),
  "port*": described("The port of the Service.", int32),
  protocol: withDefault(oneOf("SCTP", "TCP", "UDP"), "TCP"),
  targetPort: described("Number or name of the port of the Pods; the same as port when absent.", intOrString),
  nodePort: int32,
  appProtocol: text,
});

const spec = object({
  type: withDefault(oneOf("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"), "ClusterIP"),
  selector: described(
    "Labels of the Pods behind the Service; absent: another program writes its EndpointSlices.",
    mapOf(text),
  ),
  ports: listMapOf(port, "port", "protocol"),
  clusterIP: described("The address; None for a headless Service; cannot be changed.", text),
  clusterIPs: listOf(text),
  ipFamilies: listOf(text),
  ipFamilyPolicy: text,
  internalTrafficPolicy: text,
  externalTrafficPolicy: text,
  externalIPs: listOf(text),
  externalName: text,
  sessionAffinity: withDefault(oneOf("ClientIP", "None"), "None"),
  sessionAffinityConfig: anything,
  publishNotReadyAddresses: described("Whether Pods that are not ready are listed.", bool),
  healthCheckNodePort: int32,
  loadBalancerIP: text,
  loadBalancerClass: text,
  loadBalancerSourceRanges: listOf(text),
  allocateLoadBalancerNodePorts: bool,
  trafficDistribution: text,
});

export function serviceKind(addresses: ClusterIps): ServedKind {
  return builtinKind({
    type: serviceType,
    shortNames: ["svc"],
    categories: ["all"],
    hasStatus: true,
    nameRule: serviceName,
    schema: kindSchema("Service is a name and an address for a set of Pods.", {
      spec,
      status: object({ loadBalancer: anything, conditions }),
    }),
    columns,
    complete: (service, admission) => complete(service as Service, admission, addresses),
    check: (service, { old }) => checkService(service as Service, old as Service | undefined, addresses),
    committed: (now, before) => follow(now as Service | undefined, before as Service | undefined, addresses),
    selectableFields: (service) => ({
      "spec.clusterIP": (service as Service).spec?.clusterIP ?? "",
      "spec.type": (service as Service).spec?.type ?? "",
    }),
  });
}

const columns = [
  nameColumn,
  column<Service>("Type", ({ spec }) => spec?.type ?? ""),
  column<Service>("Cluster-IP", ({ spec }) => orNone(spec?.clusterIP)),
  column<Service>("External-IP", externalAddress),
  column<Service>("Port(s)", ({ spec }) => orNone(spec?.ports?.map(portText).join(","))),
  ageColumn,
  wideColumn<Service>("Selector", ({ spec }) => keyValues(spec?.selector)),
];

const portText = ({ port, nodePort, protocol }: ServicePort): string =>
  `${port}${nodePort ? `:${nodePort}` : ""}/${protocol ?? "TCP"}`;

function complete(service: Service, { old }: Admission, addresses: ClusterIps): KubeObject {
  const { spec } = service;
  if (!spec) return service;
  const ports = spec.ports?.map((port) => ({ ...port, targetPort: port.targetPort || port.port }));
  if (spec.type === "ExternalName") return { ...service, spec: { ...spec, ...(ports && { ports }) } } as Service;
  // An update without the address keeps the current one.
  const clusterIP = spec.clusterIP || (old as Service | undefined)?.spec?.clusterIP || addresses.next();
  return {
    ...service,
    spec: {
      ...spec,
      ...(ports && { ports }),
      clusterIP,
      clusterIPs: [clusterIP],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster",
    },
    status: { loadBalancer: {}, ...(service as { readonly status?: object }).status },
  } as Service;
}

function follow(now: Service | undefined, before: Service | undefined, addresses: ClusterIps): void {
  const [address, earlier] = [now?.spec?.clusterIP, before?.spec?.clusterIP];
  if (address === earlier) return;
  if (earlier) addresses.release(earlier);
  if (address) addresses.hold(address);
}

/** Nothing here allocates external addresses: that of a load balancer stays pending. */
function externalAddress({ spec }: Service): string {
  if (spec?.type === "ExternalName") return spec.externalName ?? "<none>";
  if (spec?.type === "LoadBalancer") return "<pending>";
  return orNone(spec?.externalIPs?.join(","));
}
