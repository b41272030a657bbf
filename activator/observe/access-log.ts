import { symbols } from "pino";
import type { WakeTimeline } from "../../api/between-programs/wake-timeline.ts";
import { ownText } from "../../lib/data/own-text.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock, Timer } from "../../lib/time/clock.ts";
import type { TraceHeaders } from "../../lib/tracing/tracer.ts";
import { type Ended, headerValue, loggedCharactersMax, pathOf, type RequestHead } from "../request.ts";

const unlogged = new Set(["/healthz", "/readyz", "/metrics"]);

/** Lines are written together, after this many milliseconds or characters: a write for each would cost more than the request. */
const gatherMs = 50;
const gatherCharacters = 65_536;

export interface AccessEntry {
  readonly head: RequestHead;
  readonly ended: Ended;
  readonly durationMs: number;
  readonly reason: string | undefined;
  readonly wake: WakeTimeline | undefined;
  /** Undefined: the request was not traced. */
  readonly trace: TraceHeaders | undefined;
  /** The sandbox that the request named; undefined: it was rejected before. */
  readonly routed: { readonly namespace: string; readonly name: string } | undefined;
}

/** A raw connection to a port of a sandbox. */
export interface ConnectionEntry {
  readonly namespace: string;
  readonly sandbox: string;
  readonly port: number;
  readonly clientIp: string;
  readonly durationMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly outcome: string;
  /** Why it was rejected. */
  readonly reason: string | undefined;
  readonly wake: WakeTimeline | undefined;
}

/**
 * Logs one line per request, with the keys of the ecosystem's router, the reason of a rejection and the wake. Lines have the
 * logger's format but are built here: the logger's formatters and redaction serve entries of any shape, and these have one.
 */
export class AccessLog implements Disposable {
  readonly #clock: Clock;
  readonly #begin: string;
  readonly #write: (lines: string) => void;
  #lines = "";
  #timer: Timer | undefined;
  #second = Number.NaN;
  #secondText = "";

  /** The logger's fields and stream are read once. */
  constructor(log: Logger, clock: Clock) {
    const inner = log as Logger & LoggerInners;
    this.#clock = clock;
    this.#begin = inner[symbols.chindingsSym];
    this.#write = (lines) => inner[symbols.streamSym].write(lines);
  }

  add({ head, ended, durationMs, reason, wake, trace, routed }: AccessEntry): void {
    const path = pathOf(head.target);
    if (unlogged.has(path) && ended.status === 200 && reason === undefined) return;
    const { headers } = head;
    const header = (name: string) => text(headerValue(headers, name) ?? "");
    const id = routed ? text(routed.name) : header("x-sandbox-id");
    const namespace = routed ? text(routed.namespace) : header("x-sandbox-namespace");
    const line = this.#line(
      `,"method":${text(head.method)},"path":${text(path)},"protocol":"${head.protocol}"` +
        `,"status":${ended.status},"duration_ms":${rounded(durationMs)},"client_ip":${text(head.clientIp ?? head.peer)}` +
        `,"host":${text(head.host)},"sandbox_id":${id}` +
        `,"sandbox_namespace":${namespace},"bytes_out":${ended.bytesOut}` +
        `,"user_agent":${header("user-agent")}${grpcOf(ended)}${whyAndHow(reason, wake)}${trace ? idsOf(trace) : ""},"msg":"request"}\n`,
    );
    this.#put(head.isLarge ? ownText(line) : line);
  }

  addConnection(entry: ConnectionEntry): void {
    const { namespace, sandbox, port, clientIp, outcome, reason, wake } = entry;
    const line = this.#line(
      `,"sandbox_namespace":${text(namespace)},"sandbox_id":${text(sandbox)},"port":${port},"client_ip":${text(clientIp)}` +
        `,"duration_ms":${rounded(entry.durationMs)},"bytes_in":${entry.bytesIn},"bytes_out":${entry.bytesOut}` +
        `,"outcome":${text(outcome)}${whyAndHow(reason, wake)},"msg":"connection"}\n`,
    );
    this.#put(line);
  }

  [Symbol.dispose](): void {
    this.#flush();
  }

  #line(fields: string): string {
    return `{"level":"info","time":"${this.#time()}"${this.#begin}${fields}`;
  }

  #put(line: string): void {
    this.#lines += line;
    if (this.#lines.length >= gatherCharacters) this.#flush();
    else this.#timer ??= this.#clock.after(gatherMs, () => this.#flush());
  }

  #flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#lines === "") return;
    const lines = this.#lines;
    this.#lines = "";
    this.#write(lines);
  }

  /** ISO 8601 in UTC, as in every other line. */
  #time(): string {
    const now = this.#clock.now().getTime();
    const second = Math.floor(now / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = new Date(second * 1_000).toISOString().slice(0, -4);
    }
    return `${this.#secondText}${String(now - second * 1_000).padStart(3, "0")}Z`;
  }
}

/** The parts of a pino logger under its published symbols. */
interface LoggerInners {
  /** The fields of every line as text, each with a comma before it. */
  readonly [symbols.chindingsSym]: string;
  readonly [symbols.streamSym]: { write(lines: string): void };
}

/** The reason of a rejection and the wake, if any. */
const whyAndHow = (reason: string | undefined, wake: WakeTimeline | undefined) =>
  `${reason === undefined ? "" : `,"reason":${text(reason)}`}${wake ? `,"wake":${JSON.stringify(wake)}` : ""}`;
/** The status of a call of gRPC, if the client got one. */
const grpcOf = ({ grpcStatus }: Ended) =>
  grpcStatus === undefined ? "" : `,"grpc_status":${text(grpcStatus.slice(0, loggedCharactersMax))}`;
const rounded = (ms: number) => Math.round(ms * 1000) / 1000;

/** As JSON. Hardly any value needs an escape, and the check is cheaper than the escape. */
function text(value: string): string {
  const short = value.length > loggedCharactersMax ? value.slice(0, loggedCharactersMax) : value;
  for (let at = 0; at < short.length; at += 1) if (!isPlain(short.charCodeAt(at))) return JSON.stringify(short);
  return `"${short}"`;
}

/** Visible ASCII and the space, without quote and backslash. */
const isPlain = (code: number) => code >= 0x20 && code < 0x7f && code !== 0x22 && code !== 0x5c;

/** As in `traceparent`: `00-TRACE-SPAN-FLAGS`. */
function idsOf({ traceparent = "" }: TraceHeaders): string {
  const [, traceId, spanId] = traceparent.split("-");
  return traceId === undefined || spanId === undefined ? "" : `,"trace_id":"${traceId}","span_id":"${spanId}"`;
}
