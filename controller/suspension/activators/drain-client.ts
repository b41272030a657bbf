import { type IncomingMessage, request as overHttp } from "node:http";
import { request as overTls } from "node:https";
import { drainServerName } from "../../../api/between-programs/drain-credentials.ts";
import { busyProbeMs, busyViewWaitMs, drainPaths } from "../../../api/between-programs/drain-protocol.ts";
import type { Clock } from "../../../lib/time/clock.ts";

/** The controller's certificate for drain listeners, and the authorities that it trusts there; all PEM. */
export interface DrainCredentials {
  readonly authorities: string;
  readonly certificate: string;
  readonly key: string;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** No listener on the port. */
export class DrainRefused extends Error {
  override readonly name = "DrainRefused";
}

/** The activator is of another release, which does not know this call. */
export class DrainUnknownCall extends Error {
  override readonly name = "DrainUnknownCall";
}

/** Makes one call of the drain protocol: JSON out, and what `JSON.parse` makes of the answer back. */
export type DrainCall = (address: Address, path: string, body: object, signal: AbortSignal) => Promise<unknown>;

/** An activator handles a call at once, so a late answer is a lost one. */
const callLimitMs = 5_000;
/** The activator answers this call once the workload has answered or timed out. */
const busyLimitMs = busyViewWaitMs + busyProbeMs + 1_000;
/** More than the activity of the sandboxes that one controller can manage. */
const answerBytesMax = 64 * 1024 * 1024;

/**
 * Calls over mutual TLS, each with the credentials of the moment. A call throws `DrainRefused` if the port is closed,
 * `DrainUnknownCall` where an activator of another release does, and another error where there was no usable answer in time. Without credentials, where everything is one machine, they are
 * plain HTTP.
 */
export function drainCalls(credentials: () => DrainCredentials | undefined, clock: Clock): DrainCall {
  return async (address, path, body, signal) => {
    const limit = new AbortController();
    const limitMs = path === drainPaths.busy ? busyLimitMs : callLimitMs;
    using _timer = clock.after(limitMs, () => limit.abort(new Error("the activator did not answer in time")));
    return JSON.parse(
      await post({ address, path, body, credentials: credentials(), signal: AbortSignal.any([signal, limit.signal]) }),
    );
  };
}

interface Post {
  readonly address: Address;
  readonly path: string;
  readonly body: object;
  readonly credentials: DrainCredentials | undefined;
  readonly signal: AbortSignal;
}

function post({ address: { host, port }, path, body, credentials, signal }: Post): Promise<string> {
  const headers = { "content-type": "application/json" };
  const options = { host, port, path, method: "POST", headers, agent: false, signal } as const;
  return new Promise((resolve, reject) => {
    const took = (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > answerBytesMax) response.destroy(new Error("the answer is too long"));
        else chunks.push(chunk);
      });
      response.on("error", reject);
      response.on("end", () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString("utf8"));
        else reject(failureOf(response.statusCode));
      });
    };
    const call = credentials ? overTls({ ...options, ...tlsOf(credentials) }, took) : overHttp(options, took);
    // Without a listener Node closes the connection, and reports no error.
    call.on("upgrade", (_, socket) => {
      socket.destroy();
      reject(new Error("the activator switched protocols without a request"));
    });
    call.on("error", (error) => reject(isRefusal(error) ? new DrainRefused(error.message) : error));
    call.end(JSON.stringify(body));
  });
}

function failureOf(status: number | undefined): Error {
  const message = `the activator answered ${status}`;
  return status === 404 ? new DrainUnknownCall(message) : new Error(message);
}

const tlsOf = ({ authorities: ca, certificate: cert, key }: DrainCredentials) =>
  ({ ca, cert, key, servername: drainServerName, minVersion: "TLSv1.3" }) as const;

const isRefusal = (error: NodeJS.ErrnoException): boolean => error.code === "ECONNREFUSED";
