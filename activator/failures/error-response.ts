import type { HeaderPair, RequestHead, Synthetic } from "../request.ts";
import type { ActivatorError } from "./errors-for-clients.ts";
import { toGrpcResponse } from "./grpc-response.ts";
import { htmlPage, prefersPage } from "./html-page.ts";
import { waitPage } from "./wait-page.ts";

/**
 * Turns errors into responses; no other code does. Without a request head the error is JSON. `isLate`: the time that the client
 * allowed is over.
 */
export function toResponse(error: ActivatorError, head?: RequestHead, isLate = false): Synthetic {
  if (head?.grpc) return toGrpcResponse(error, head.grpc, isLate);
  const page = head !== undefined && prefersPage(head.headers);
  const headers: HeaderPair[] = [
    ["Content-Type", page ? "text/html; charset=utf-8" : "application/json"],
    ["X-Rouse-Reason", error.code],
    ["Cache-Control", "no-store"],
  ];
  // Else pages of the same origin could read its URL, which may have a token. The wait page loads itself again, which this prevents; it never
  // has such a URL.
  if (error.code !== "Waking") headers.push(["Content-Security-Policy", "sandbox"]);
  const required = requiredFields[error.status];
  if (required) headers.push(required);
  if (error.retryAfterSeconds !== undefined) headers.push(["Retry-After", String(error.retryAfterSeconds)]);
  const body = page ? pageOf(error) : JSON.stringify({ detail: error.detail });
  return { status: error.status, headers, body, code: error.code };
}

/** The fields that a response with this status must have (RFC 9110, 15.5.2 and 15.5.6). */
const requiredFields: Readonly<Record<number, HeaderPair>> = {
  401: ["WWW-Authenticate", "Bearer"],
  // The methods of RFC 9110 and RFC 5789 but CONNECT, which no sandbox is asked for.
  405: ["Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"],
};

const pageOf = (error: ActivatorError): string => (error.code === "Waking" ? waitPage(error) : errorPage(error));

const errorPage = ({ status, code, detail }: ActivatorError): string => htmlPage(`${status} ${code}`, detail);
