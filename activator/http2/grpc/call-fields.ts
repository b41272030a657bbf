import { type ClientView, fieldFor, withoutCredential } from "../../headers/base-path.ts";
import { type ForwardRules, keepsRequestHeader, keepsResponseHeader } from "../../headers/forward-headers.ts";
import type { ClientRequest } from "../../http1/front/client-request.ts";
import type { RequestRules } from "../../http1/proxy/head-text.ts";
import { authorityOf } from "../../pod-connections/place.ts";
import { type HeaderPair, sentTarget } from "../../request.ts";
import type { Target } from "../../sandbox/resolve.ts";
import { pairsOf } from "../front/field-lines.ts";
import { callTimeout } from "../front/grpc-call.ts";

export interface CallTarget {
  readonly pod: Pick<Target, "ip" | "port">;
  /** What is left of the time that the client allowed, in milliseconds; infinite without a limit. */
  readonly leftMs: number;
}

export interface SentCall {
  readonly head: Pick<ClientRequest, "host" | "clientIp" | "scheme" | "target" | "sandboxTarget">;
  readonly fields: readonly HeaderPair[];
}

/** The fields of a call for the sandbox, names in lower case and values in turn. The rules are those of HTTP/1.1. */
export function callFields(
  { head, fields: sent }: SentCall,
  { byHost, base, hidden, consumesAuthorization, trace }: RequestRules,
  { pod, leftMs }: CallTarget,
): string[] {
  const { host, clientIp, scheme } = head;
  const rules: ForwardRules = {
    ...{ byHost, consumesAuthorization, upgrade: false, chunked: true, traced: trace !== undefined },
  };
  const authority = byHost ? host : authorityOf(pod);
  const fields = [":method", "POST", ":scheme", "http", ":authority", authority, ":path", sentTarget(head)];
  for (const [name, value] of sent) {
    const lower = name.toLowerCase();
    if (lower === "grpc-timeout" || !keepsRequestHeader(lower, rules)) continue;
    const kept = hidden ? withoutCredential(hidden, lower, value) : value;
    if (kept !== undefined) fields.push(lower, kept);
  }
  fields.push("te", "trailers");
  if (Number.isFinite(leftMs)) fields.push("grpc-timeout", callTimeout(leftMs));
  fields.push("x-forwarded-for", clientIp, "x-forwarded-host", host, "x-forwarded-proto", scheme);
  if (base) fields.push("x-forwarded-prefix", base.text.slice(0, -1));
  for (const [name, value] of Object.entries(trace ?? {})) fields.push(name.toLowerCase(), value);
  return fields;
}

/**
 * The fields of a response or of its trailers, without the pseudo-header and those of a connection. Without a `view` their
 * values stay.
 */
export function* forwardedFields(fields: readonly string[], view?: ClientView): Generator<HeaderPair> {
  for (const [name, value] of pairsOf(fields)) {
    if (name.startsWith(":") || !keepsResponseHeader(name, true)) continue;
    const kept = view ? fieldFor(view, name, value) : value;
    if (kept !== undefined) yield [name, kept];
  }
}
