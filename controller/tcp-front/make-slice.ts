import {
  type EndpointSlice,
  endpointSliceType,
  formatTcpFront,
  managedByLabel,
  serviceNameLabel,
  type TcpFront,
  tcpFrontManager,
  tcpFrontOf,
  tcpFrontSliceName,
} from "../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { apiVersionOf } from "../../api/kinds/resource-type.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { tcpFrontAnnotation } from "../../api/rules/keys.ts";
import type { Listed } from "./choose-endpoints.ts";

/** The endpoints that a slice lists, and the Service that it belongs to; without a Service it lists none. */
export interface SliceTarget extends Listed {
  readonly service: string | undefined;
}

/** It has no owner: it must outlive its sandbox. */
export function freshSlice(
  { metadata: { namespace = "", uid } }: Stored<Sandbox>,
  front: TcpFront,
  addressType: EndpointSlice["addressType"],
  { service, endpoints, ports }: SliceTarget,
): EndpointSlice {
  return {
    apiVersion: apiVersionOf(endpointSliceType),
    kind: endpointSliceType.kind,
    metadata: {
      namespace,
      name: tcpFrontSliceName(uid),
      labels: labelsOf(service),
      annotations: { [tcpFrontAnnotation]: formatTcpFront(front) },
    },
    addressType,
    endpoints,
    ports,
  };
}

/** The same slice, of the version that was seen, saying this. */
export function changed(
  slice: Stored<EndpointSlice>,
  front: TcpFront,
  { service, endpoints, ports }: SliceTarget,
): Stored<EndpointSlice> {
  const { metadata } = slice;
  const { [serviceNameLabel]: _, ...others } = metadata.labels ?? {};
  return {
    ...slice,
    metadata: {
      ...metadata,
      labels: { ...others, ...labelsOf(service) },
      annotations: { ...metadata.annotations, [tcpFrontAnnotation]: formatTcpFront(front) },
    },
    endpoints,
    ports,
  };
}

const labelsOf = (service: string | undefined): Readonly<Record<string, string>> => ({
  [managedByLabel]: tcpFrontManager,
  ...(service !== undefined && { [serviceNameLabel]: service }),
});

/**
 * The fields of a slice that this controller writes. Fields that a server or another writer adds do not count as a
 * difference.
 */
export const ourPart = (slice: EndpointSlice): object => ({
  front: tcpFrontOf(slice),
  service: slice.metadata.labels?.[serviceNameLabel],
  endpoints: (slice.endpoints ?? []).map(({ addresses, conditions, targetRef }) => ({
    addresses,
    conditions,
    targetRef: targetRef && {
      kind: targetRef.kind,
      namespace: targetRef.namespace,
      name: targetRef.name,
      uid: targetRef.uid,
    },
  })),
  ports: (slice.ports ?? []).map(({ name, port, protocol }) => ({ name, port, protocol })),
});
