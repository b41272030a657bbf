import { bool, described, int32, listOf, mapOf, object, oneOf, text, withDefault } from "../../../../api/crd/shapes.ts";
import type { KubeObject, StatusCause } from "../../../../api/meta.ts";
import type { ResourceType } from "../../../../api/resource-type.ts";
import type { Admission } from "../../served-kind.ts";
import { kindSchema } from "../metadata/schema.ts";
import { invalid, required } from "../schema/causes.ts";
import { anything } from "../schema/shapes.ts";
import { builtinKind } from "./builtin-kind.ts";
import { ageColumn, column, nameColumn } from "./columns.ts";

interface EndpointSlice extends KubeObject {
  readonly addressType?: string;
  readonly endpoints?: readonly { readonly addresses?: readonly string[] }[];
  readonly ports?: readonly { readonly port?: number }[];
}

const endpointSliceType: ResourceType<EndpointSlice> = {
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
};

const endpoint = object({
  "addresses*": described("Addresses of one and the same thing.", listOf(text)),
  conditions: object({ ready: bool, serving: bool, terminating: bool }),
  hostname: text,
  targetRef: object({
    apiVersion: text,
    kind: text,
    namespace: text,
    name: text,
    uid: text,
    resourceVersion: text,
    fieldPath: text,
  }),
  deprecatedTopology: mapOf(text),
  nodeName: text,
  zone: text,
  hints: anything,
});

export const endpointSliceKind = builtinKind({
  type: endpointSliceType,
  schema: kindSchema("EndpointSlice lists addresses behind a Service.", {
    "addressType*": described("What the addresses are; cannot be changed.", oneOf("FQDN", "IPv4", "IPv6")),
    "endpoints*": described("The addresses.", listOf(endpoint)),
    ports: listOf(
      object({
        name: withDefault(text, ""),
        protocol: withDefault(oneOf("SCTP", "TCP", "UDP"), "TCP"),
        port: int32,
        appProtocol: text,
      }),
    ),
  }),
  columns: [
    nameColumn,
    column<EndpointSlice>("AddressType", ({ addressType }) => addressType ?? ""),
    column<EndpointSlice>("Ports", ({ ports }) =>
      some(
        (ports ?? []).map(({ port }) => String(port ?? "*")),
        "<unset>",
      ),
    ),
    column<EndpointSlice>("Endpoints", ({ endpoints }) =>
      some(
        (endpoints ?? []).flatMap(({ addresses }) => addresses ?? []),
        "<unset>",
      ),
    ),
    ageColumn,
  ],
  // A slice of nothing is written without the field by some clients, and means an empty list.
  complete: (slice) => ({ ...slice, endpoints: (slice as EndpointSlice).endpoints ?? [] }) as KubeObject,
  check: checkSlice,
});

/** The first three, as kubectl shows lists that may be long. */
function some(texts: readonly string[], none: string): string {
  if (texts.length === 0) return none;
  const more = texts.length > 3 ? ` + ${texts.length - 3} more...` : "";
  return texts.slice(0, 3).join(",") + more;
}

function checkSlice(object: KubeObject, { old }: Admission): readonly StatusCause[] {
  const { addressType, endpoints = [] } = object as EndpointSlice;
  const changed = old && (old as EndpointSlice).addressType !== addressType;
  return [
    ...(changed ? [invalid("addressType", addressType, "field is immutable")] : []),
    ...endpoints.flatMap(({ addresses = [] }, index) =>
      addresses.length === 0 ? [required(`endpoints[${index}].addresses`, "must contain at least 1 address")] : [],
    ),
  ];
}
