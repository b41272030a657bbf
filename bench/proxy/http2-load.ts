import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { spreadOf } from "../statistics.ts";
import type { Latency } from "./latency.ts";
import { type LoadResult, warmSeconds } from "./load.ts";
import { callPaths, hostOf, messageOf, ports } from "./ports.ts";
import { cores } from "./subjects.ts";

const run = promisify(execFile);

/** The parameters of h2load. */
export interface Http2Load {
  readonly path: string;
  readonly connections: number;
  /** At a time, on each connection. */
  readonly streams: number;
  /** Over TLS. The ecosystem's router speaks HTTP/2 in no other way. */
  readonly isEncrypted?: true;
}

export const http2Loads: Readonly<Record<string, Http2Load>> = {
  "HTTP/2 GET, 1 connection of 100 streams": { path: "/", connections: 1, streams: 100 },
  "HTTP/2 GET, 50 connections of 10 streams": { path: "/", connections: 50, streams: 10 },
  "HTTP/2 GET over TLS, 10 connections of 10 streams": { path: "/", connections: 10, streams: 10, isEncrypted: true },
  "gRPC, one message": { path: callPaths.unary, connections: 10, streams: 10 },
  "gRPC, 16 messages of 1 KB down": { path: callPaths.stream, connections: 10, streams: 10 },
};

/** They contain the connections. */
const firstCalls = 500;
/** h2load sends a little less than it is asked for. */
const sharePossible = 0.98;

/** How a proxy is asked. */
export interface Http2Target {
  readonly directory: string;
  /** Where the proxy speaks HTTP/2 in clear text, or over TLS. */
  readonly port: number;
  /** Instead of the host name of the sandbox. */
  readonly fields?: readonly string[] | undefined;
}

/** Runs h2load on the core that the proxy does not use. */
export async function runHttp2Load(load: Http2Load, target: Http2Target, seconds: number): Promise<LoadResult> {
  const { stdout } = await run("taskset", ["-c", cores.rest, "h2load", ...flagsOf(load, target, seconds)]);
  return readReport(stdout, seconds);
}

/** The latency of calls of gRPC with one message, a thousand a second on ten connections. */
export async function measureCallLatency(target: Http2Target, seconds: number): Promise<Latency> {
  const load: Http2Load = { path: callPaths.unary, connections: 10, streams: 10 };
  const log = join(target.directory, "calls.log");
  rmSync(log, { force: true }); // h2load appends
  const flags = [`--rps=${1_000 / load.connections}`, `--log-file=${log}`, ...flagsOf(load, target, seconds)];
  await runHttp2Load(load, target, warmSeconds);
  const { stdout } = await run("taskset", ["-c", cores.rest, "h2load", ...flags]);
  // A line has the start, the status, and the microseconds until the end of the response.
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  const { p50, p99 } = spreadOf(lines.slice(firstCalls).map((line) => Number(line.split("\t")[2]) / 1_000));
  const asked = seconds * 1_000;
  const missed = readReport(stdout, seconds).failures + Math.max(0, asked * sharePossible - lines.length);
  return { p50, p99, missed: Math.round(missed) };
}

function flagsOf(
  { path, connections, streams, isEncrypted }: Http2Load,
  { directory, port, fields: ownFields }: Http2Target,
  seconds: number,
): readonly string[] {
  const isCall = path !== "/";
  const message = join(directory, "call");
  writeFileSync(message, messageOf(16));
  const fields = [
    ...(ownFields ?? [`:authority: ${hostOf(isCall ? ports.calls : ports.files)}`]),
    ...(isCall ? ["content-type: application/grpc", "te: trailers"] : []),
  ];
  return [
    ...["-t1", `-c${connections}`, `-m${streams}`, `-D${seconds}`],
    ...fields.flatMap((field) => ["-H", field]),
    ...(isCall ? ["-d", message] : []),
    `${isEncrypted ? "https" : "http"}://127.0.0.1:${port}${path}`,
  ];
}

/** @throws Error if h2load says something else. */
function readReport(text: string, seconds: number): LoadResult {
  const counts = /^requests: .* (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout$/m.exec(text);
  const statuses = /^status codes: (\d+) 2xx/m.exec(text);
  if (!counts || !statuses) throw new Error(`h2load says: ${text}`);
  const [requests = 0, failed = 0] = counts.slice(1).map(Number);
  // It counts those that were in flight at the end as no failures.
  return { requests, seconds, failures: failed + Math.max(0, requests - Number(statuses[1])) };
}
