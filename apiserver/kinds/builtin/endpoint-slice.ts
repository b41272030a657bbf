import { isIP, isIPv4, isIPv6 } from "node:net";
import { type EndpointPort, type EndpointSlice, endpointSliceType } from "../../../api/between-programs/tcp-front.ts";
import { bool, described, int32, listOf, mapOf, object, oneOf, text, withDefault } from "../../../api/crd/shapes.ts";
import type { KubeObject, StatusCause } from "../../../api/kinds/meta.ts";
import { repeatedAt } from "../../../lib/data/repeated-at.ts";
import type { Admission } from "../../served-kind.ts";
import { labelName } from "../metadata/names.ts";
import { kindSchema } from "../metadata/schema.ts";
import { duplicate, invalid, required, tooMany } from "../schema/causes.ts";
import { anything } from "../schema/shapes.ts";
import { builtinKind } from "./builtin-kind.ts";
import { ageColumn, column, nameColumn } from "./columns.ts";

const endpoint = object({
  "addresses*": described("Equivalent addresses of one endpoint.", listOf(text)),
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
    "addressType*": described("The type of the addresses; cannot be changed.", oneOf("FQDN", "IPv4", "IPv6")),
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
  // Some clients omit the field for an empty list.
  complete: (slice) => ({ ...slice, endpoints: (slice as EndpointSlice).endpoints ?? [] }) as KubeObject,
  check: checkSlice,
});

/** The first three, in kubectl's format for long lists. */
function some(texts: readonly string[], none: string): string {
  if (texts.length === 0) return none;
  const more = texts.length > 3 ? ` + ${texts.length - 3} more...` : "";
  return texts.slice(0, 3).join(",") + more;
}

function checkSlice(object: KubeObject, { old }: Admission): readonly StatusCause[] {
  const { addressType, endpoints, ports } = object as EndpointSlice;
  const changed = old && (old as EndpointSlice).addressType !== addressType;
  return [
    ...checkPorts(ports ?? []),
    ...checkEndpoints(endpoints ?? [], addressType),
    ...(changed ? [invalid("addressType", addressType, "field is immutable")] : []),
  ];
}

function checkEndpoints(
  endpoints: NonNullable<EndpointSlice["endpoints"]>,
  addressType: EndpointSlice["addressType"],
): readonly StatusCause[] {
  const many = atMost(endpoints, 1_000, "endpoints");
  if (many.length > 0) return many;
  return endpoints.flatMap(({ addresses }, at) => checkAddresses(addresses, addressType, `endpoints[${at}]`));
}

function checkPorts(ports: readonly EndpointPort[]): readonly StatusCause[] {
  const many = atMost(ports, 20_000, "ports");
  if (many.length > 0) return many;
  const repeated = repeatedAt(ports.map(({ name = "" }) => name));
  return ports.flatMap(({ name = "" }, at) => {
    const field = `ports[${at}].name`;
    const complaints = name === "" ? [] : labelName(name);
    return [
      ...complaints.map((complaint) => invalid(field, name, complaint)),
      ...(repeated.has(at) ? [duplicate(field, name)] : []),
    ];
  });
}

function checkAddresses(
  addresses: readonly string[] | null | undefined,
  addressType: EndpointSlice["addressType"],
  endpoint: string,
): readonly StatusCause[] {
  const field = `${endpoint}.addresses`;
  if (!addresses || addresses.length === 0) return [required(field, "must contain at least 1 address")];
  return [
    ...atMost(addresses, 100, field),
    ...(addressType === "FQDN"
      ? []
      : addresses.flatMap((address, at) => checkAddress(address, addressType, field, `${field}[${at}]`))),
  ];
}

/** Unlike a cluster's API server, this one accepts loopback addresses: its Pods have no others. */
function checkAddress(
  address: string,
  addressType: "IPv4" | "IPv6",
  all: string,
  field: string,
): readonly StatusCause[] {
  if (isIP(address) === 0) {
    return [invalid(field, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")];
  }
  const ofType = addressType === "IPv4" ? isIPv4(address) : isIPv6(address);
  return [
    ...(ofType ? [] : [invalid(all, address, `must be an ${addressType} address`)]),
    ...(unspecified.test(address) ? [invalid(field, address, `may not be unspecified (${address})`)] : []),
    ...(linkLocal.test(address)
      ? [invalid(field, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")]
      : []),
  ];
}

const unspecified = /^(0\.0\.0\.0|[0:]+)$/;
const linkLocal = /^(169\.254\.|fe[89ab][0-9a-f]:)/i;

const atMost = (items: readonly unknown[], max: number, field: string): readonly StatusCause[] =>
  items.length > max ? [tooMany(field, items.length, max)] : [];
