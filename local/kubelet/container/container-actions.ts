import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { finished } from "node:stream/promises";
import type { Container, HttpGetAction, IntOrString, Probe } from "../../../api/kinds/core.ts";
import { onAbort } from "../../../lib/guard/on-abort.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { type Launch, startProcess } from "../process/process.ts";
import { exitCodeOf } from "./container-state.ts";
import { checkGrpc } from "./grpc-check.ts";

/** The container of a probe or a hook. */
export interface ActionTarget {
  readonly container: Container;
  readonly podIp: string;
  /** The container's own launch: commands run in the same environment and directory. */
  readonly launchOf: (command: readonly string[]) => Launch;
}

export interface ActionResult {
  readonly passed: boolean;
  /** The reason, for an event; empty if there is no message. */
  readonly message: string;
}

export type Action = Pick<Probe, "httpGet" | "tcpSocket" | "exec" | "grpc">;

const outputBytesMax = 1024;
/** How long output may come after the end of its command. Milliseconds. */
const outputLateMs = 100;

/** Performs one action, until `timeoutMs` milliseconds have passed or until aborted. It never rejects. */
export async function perform(
  action: Action,
  target: ActionTarget,
  { clock, timeoutMs, signal }: { readonly clock: Clock; readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<ActionResult> {
  const limit = new AbortController();
  using _ = clock.after(timeoutMs, () => limit.abort(new Error(`no answer within ${timeoutMs / 1000} s`)));
  try {
    return await begin(action, target, { clock, signal: AbortSignal.any([signal, limit.signal]) });
  } catch (error) {
    const cause = limit.signal.aborted ? limit.signal.reason : error;
    return { passed: false, message: cause instanceof Error ? cause.message : String(cause) };
  }
}

interface Limits {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

function begin(action: Action, target: ActionTarget, limits: Limits): Promise<ActionResult> {
  const { signal } = limits;
  const { httpGet, tcpSocket, exec, grpc } = action;
  if (httpGet) return get(httpGet, target, signal);
  if (tcpSocket) return dial(tcpSocket.host || target.podIp, portOf(tcpSocket.port, target.container), signal);
  if (exec) return run(target.launchOf(exec.command ?? []), limits);
  if (grpc) return checkGrpc({ host: target.podIp, port: grpc.port, service: grpc.service ?? "" }, signal);
  return Promise.reject(new Error("local mode does not support this kind of probe"));
}

/** As in the kubelet, any status from 200 to 399 is a success, and redirects are not followed. */
function get(action: HttpGetAction, target: ActionTarget, signal: AbortSignal): Promise<ActionResult> {
  const { host, path = "/", scheme = "HTTP", httpHeaders = [] } = action;
  const request = scheme === "HTTPS" ? httpsRequest : httpRequest;
  const address = { host: host || target.podIp, port: portOf(action.port, target.container) };
  const options = {
    ...address,
    path: path.startsWith("/") ? path : `/${path}`,
    headers: withDefaults(httpHeaders, `${address.host}:${address.port}`).flatMap(({ name, value }) => [name, value]),
    agent: false,
    rejectUnauthorized: false, // the API says that certificates of probes are not verified
    signal,
  };
  return new Promise((resolve, reject) => {
    const call = request(options, (response) => {
      const { statusCode = 0 } = response;
      response.destroy();
      const passed = statusCode >= 200 && statusCode < 400;
      resolve({ passed, message: `HTTP probe failed with statuscode: ${statusCode}` });
    });
    call.on("error", reject);
    // After an unrequested 101, Node closes the connection and reports no error.
    call.on("close", () => reject(new Error("the connection was closed without a response")));
    call.end();
  });
}

type Headers = NonNullable<HttpGetAction["httpHeaders"]>;

function withDefaults(given: Headers, host: string): Headers {
  const defaults: Headers = [
    { name: "Host", value: host },
    { name: "User-Agent", value: "kube-probe/rouse" },
    { name: "Accept", value: "*/*" },
    { name: "Connection", value: "close" },
  ];
  const isGiven = (name: string) => given.some((header) => header.name.toLowerCase() === name.toLowerCase());
  return [...given, ...defaults.filter(({ name }) => !isGiven(name))];
}

function dial(host: string, port: number, signal: AbortSignal): Promise<ActionResult> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal });
    socket.on("error", reject);
    socket.once("connect", () => {
      socket.destroy();
      resolve({ passed: true, message: "" });
    });
  });
}

async function run(launch: Launch, { clock, signal }: Limits): Promise<ActionResult> {
  const group = await startProcess(launch);
  let output = "";
  const streams = [group.stdout, group.stderr];
  for (const stream of streams) {
    stream.on("data", (chunk: Buffer) => {
      output = (output + chunk.toString("utf8")).slice(0, outputBytesMax);
    });
  }
  const kill = () => group.signal("SIGKILL");
  if (signal.aborted) kill();
  using _killing = onAbort(signal, kill);
  const code = exitCodeOf(await group.exited);
  // A process that the command left behind may keep its pipes open for ever.
  using _late = clock.after(outputLateMs, () => streams.forEach((stream) => void stream.destroy()));
  await Promise.allSettled(streams.map((stream) => finished(stream)));
  signal.throwIfAborted();
  return { passed: code === 0, message: output.trim() || `command ended with exit code ${code}` };
}

function portOf(port: IntOrString, { name, ports = [] }: Container): number {
  if (typeof port === "number") return port;
  const named = ports.find((candidate) => candidate.name === port);
  const number = named?.containerPort ?? Number(port);
  if (Number.isInteger(number)) return number;
  throw new Error(`container "${name}" has no port "${port}"`);
}
