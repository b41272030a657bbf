import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import type { Container, HttpGetAction, IntOrString, Probe } from "../../api/core.ts";
import type { Clock } from "../../lib/clock.ts";
import { exitCodeOf } from "./container-state.ts";
import { type Launch, startProcess } from "./process.ts";

/** What a probe or a hook is asked of. */
export interface ActionTarget {
  readonly container: Container;
  readonly podIp: string;
  /** How the container itself was started: commands run in the same environment and place. */
  readonly launchOf: (command: readonly string[]) => Launch;
}

export interface ActionResult {
  readonly passed: boolean;
  /** What was seen, for an event; empty when there is nothing to say. */
  readonly message: string;
}

export type Action = Pick<Probe, "httpGet" | "tcpSocket" | "exec" | "grpc">;

const outputBytesMax = 1024;

/** Performs one action, for at most `timeoutMs` milliseconds or until aborted. It never rejects. */
export async function perform(
  action: Action,
  target: ActionTarget,
  { clock, timeoutMs, signal }: { readonly clock: Clock; readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<ActionResult> {
  const limit = new AbortController();
  using _ = clock.after(timeoutMs, () => limit.abort(new Error(`no answer within ${timeoutMs / 1000} s`)));
  try {
    return await begin(action, target, AbortSignal.any([signal, limit.signal]));
  } catch (error) {
    const cause = limit.signal.aborted ? limit.signal.reason : error;
    return { passed: false, message: cause instanceof Error ? cause.message : String(cause) };
  }
}

function begin(action: Action, target: ActionTarget, signal: AbortSignal): Promise<ActionResult> {
  const { httpGet, tcpSocket, exec } = action;
  if (httpGet) return get(httpGet, target, signal);
  if (tcpSocket) return dial(tcpSocket.host || target.podIp, portOf(tcpSocket.port, target.container), signal);
  if (exec) return run(target.launchOf(exec.command ?? []), signal);
  return Promise.reject(new Error("local mode does not know this kind of probe"));
}

/** As the kubelet: any status from 200 to 399 is a success, and a redirection is not followed. */
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
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.destroy();
      resolve({ passed: true, message: "" });
    });
  });
}

async function run(launch: Launch, signal: AbortSignal): Promise<ActionResult> {
  const group = await startProcess(launch);
  let output = "";
  for (const stream of [group.stdout, group.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output = (output + chunk.toString("utf8")).slice(0, outputBytesMax);
    });
  }
  const kill = () => group.signal("SIGKILL");
  if (signal.aborted) kill();
  signal.addEventListener("abort", kill, { once: true });
  const code = exitCodeOf(await group.exited);
  signal.removeEventListener("abort", kill);
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
