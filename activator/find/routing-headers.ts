import { ownText } from "../../lib/data/own-text.ts";
import { ActivatorError, type ErrorCode } from "../failures/errors-for-clients.ts";
import { type HeaderPair, headerValues, type RequestHead } from "../request.ts";
import { isLabel, parsePort } from "./host-name.ts";
import { canonicalIp, isDiallable } from "./ip-address.ts";

/** The `X-Sandbox-*` headers of a request. Undefined: absent or empty. Its texts share no memory with the head. */
export interface RoutingHeaders {
  readonly id: string | undefined;
  readonly namespace: string | undefined;
  readonly port: number | undefined;
  /** In canonical form. A hint that is compared with the live Pod, never dialled. */
  readonly podIp: string | undefined;
  /** The UID that the client knows. Only unclaimed members of warm pools need it, so that no one reaches them by a guessed name. */
  readonly uid: string | undefined;
}

/** A UID of Kubernetes has 36 characters. */
const uidCharactersMax = 64;

/**
 * Parses the routing headers in the contract's order: id, namespace, port, Pod IP. The first error is reported.
 *
 * @throws ActivatorError for a malformed value, or a header with two values: an outer proxy may have read the other value.
 */
export function readRoutingHeaders(headers: readonly HeaderPair[], allowLoopbackPodIp: boolean): RoutingHeaders {
  const id = readOne(headers, "x-sandbox-id", "BadSandboxId");
  if (id !== undefined && !isLabel(id)) throw new ActivatorError("BadSandboxId");
  const namespace = readOne(headers, "x-sandbox-namespace", "BadNamespace");
  if (namespace !== undefined && !isLabel(namespace)) throw new ActivatorError("BadNamespace");
  const portText = readOne(headers, "x-sandbox-port", "BadPort");
  const port = portText === undefined ? undefined : parsePort(portText);
  if (portText !== undefined && port === undefined) throw new ActivatorError("BadPort");
  return { id, namespace, port, podIp: readPodIp(headers, allowLoopbackPodIp), uid: readUid(headers) };
}

function readPodIp(headers: readonly HeaderPair[], allowLoopback: boolean): string | undefined {
  const text = readOne(headers, "x-sandbox-pod-ip", "BadPodIp");
  if (text === undefined) return undefined;
  const ip = canonicalIp(text);
  if (ip === undefined) throw new ActivatorError("BadPodIpFormat");
  if (!isDiallable(ip, allowLoopback)) throw new ActivatorError("BadPodIp");
  return ip;
}

/** It is not checked: what is no UID matches none. */
function readUid(headers: readonly HeaderPair[]): string | undefined {
  const values = headerValues(headers, "x-sandbox-uid");
  const uid = values.length === 1 ? values[0]?.trim() : undefined;
  return uid === undefined || uid === "" || uid.length > uidCharactersMax ? undefined : ownText(uid);
}

function readOne(headers: readonly HeaderPair[], name: string, disagree: ErrorCode): string | undefined {
  const values = headerValues(headers, name);
  const [value] = values;
  if (value === undefined) return undefined;
  const trimmed = value.trim();
  if (values.some((other) => other.trim() !== trimmed)) throw new ActivatorError(disagree);
  return trimmed === "" ? undefined : ownText(trimmed);
}

/** Python and Go print no float with more than 25 characters. */
const timeoutCharactersMax = 64;

/**
 * The time limit that the client states, in milliseconds: the shorter of `X-Sandbox-Timeout` and `grpc-timeout`. Undefined: none.
 */
export function statedTimeoutMs({ headers, grpc }: Pick<RequestHead, "headers" | "grpc">): number | undefined {
  const ofHeader = readTimeoutMs(headers);
  const ofCall = grpc?.timeoutMs;
  if (typeof ofCall !== "number") return ofHeader;
  return Math.min(ofCall, ofHeader ?? ofCall);
}

/** `X-Sandbox-Timeout` in milliseconds; undefined if it is absent, too long or unusable. */
function readTimeoutMs(headers: readonly HeaderPair[]): number | undefined {
  const text = headerValues(headers, "x-sandbox-timeout")[0]?.trim();
  if (text === undefined || text.length > timeoutCharactersMax) return undefined;
  if (!/^\+?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text)) return undefined;
  const seconds = Number(text);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}
