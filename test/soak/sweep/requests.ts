import { once } from "node:events";
import { connect } from "node:tls";
import { Metadata } from "@grpc/grpc-js";
import type { SandboxSpec } from "../../../api/kinds/sandbox.ts";
import type { ActivatorReplica } from "../../sleep/activator-replica.ts";
import { answersOfStream, grpcPort } from "../../sleep/grpc-workload.ts";
import { namedMessage } from "../../sleep/ledger.ts";
import { home } from "../../sleep/test-bed.ts";
import { tlsPort } from "../../sleep/tls-workload.ts";
import { visit } from "../../sleep/visitor.ts";
import { EchoClient } from "../../support/grpc/echo-service.ts";
import { connectOverHttp1, connectOverHttp2, type WebServer } from "../../support/grpc/web-clients.ts";
import { activatorsOf, beforeOf, type SweepKind, type SweepWorld, wayOf } from "./sweep-kind.ts";

/** Sends a request with that id; resolves with what is wrong about its response. */
type Send = (id: string, name: string, by: ActivatorReplica, world: SweepWorld) => Promise<string | undefined>;

/** A use that is begun at its moment: it is answered, whatever the sandbox does. */
function request(name: string, send: Send, spec: Partial<SandboxSpec> = {}): SweepKind {
  return {
    ...{ name, spec, isTunnel: false },
    async prepare(sandbox, world) {
      const { first, second } = activatorsOf(world);
      const before = await sendOnceSeen(send, { sandbox, by: first, world });
      const usedMs = performance.now();
      return {
        usedMs,
        async ask() {
          const wrong = await send(sandbox, sandbox, second, world);
          if (before !== undefined) return { wrong: `the request before: ${before}` };
          return wrong === undefined ? { way: wayOf(sandbox, world) } : { wrong };
        },
      };
    },
  };
}

/** The number of times that a request may come before the activator has seen its new sandbox. */
const unseenMax = 100;

/** Sends the request before the case, again while the activator has not seen the new sandbox: until then it is rejected at once. */
async function sendOnceSeen(
  send: Send,
  { sandbox, by, world }: { readonly sandbox: string; readonly by: ActivatorReplica; readonly world: SweepWorld },
): Promise<string | undefined> {
  for (let rejected = 0; ; rejected += 1) {
    const fault = await send(beforeOf(sandbox), sandbox, by, world);
    if (fault === undefined || rejected === unseenMax) return fault;
    if ((await world.rejections.reasonOf(sandbox, rejected)) !== "SandboxNotFound") return fault;
  }
}

function byHttp(isHttp2: boolean, body?: string): Send {
  return async (id, sandbox, by) => {
    const outcome = await visit(by, { id, sandbox, isHttp2, ...(body !== undefined && { body }) });
    if (outcome.status !== 200) return `${outcome.status} ${outcome.body}`;
    return JSON.parse(outcome.body).bytes === (body?.length ?? 0) ? undefined : "its body was cut";
  };
}

/** The fields that name the port for gRPC of a sandbox. */
export const grpcHeaders = (sandbox: string) => ({ "x-sandbox-id": sandbox, "x-sandbox-port": `${grpcPort}` });

export function grpcMetadata(sandbox: string): Metadata {
  const metadata = new Metadata();
  for (const [field, value] of Object.entries(grpcHeaders(sandbox))) metadata.set(field, value);
  return metadata;
}

function byGrpc(method: "Unary" | "ServerStream"): Send {
  const answers = method === "Unary" ? 1 : answersOfStream;
  return async (id, sandbox, { host, port }) => {
    using client = new EchoClient(`${host}:${port}`);
    const message = namedMessage(id);
    const { code, details, messages } = await client.call(method, [message], { metadata: grpcMetadata(sandbox) });
    return faultOf({ code, details, messages: messages.map(String) }, message, answers);
  };
}

function byGrpcWeb(open: typeof connectOverHttp1, method: "Unary" | "ServerStream"): Send {
  const answers = method === "Unary" ? 1 : answersOfStream;
  return async (id, sandbox, { host, port }) => {
    const server: WebServer = { host, port };
    using client = open(server);
    const message = namedMessage(id);
    const outcome = await client.call(method, message, { headers: grpcHeaders(sandbox) });
    return faultOf(outcome, message, answers);
  };
}

interface CallEnd {
  readonly code: number;
  readonly details: string;
  readonly messages: readonly string[];
}

function faultOf({ code, details, messages }: CallEnd, message: string, answers: number): string | undefined {
  if (code !== 0) return `status ${code}: ${details}`;
  const isWhole = messages.length === answers && messages.every((each) => each === message);
  return isWhole ? undefined : `answered with ${JSON.stringify(messages)}`;
}

/** The address of the by-name listener, on each activator. */
export const byNamePort = 8_444;
export const domain = "sandbox.localhost";

const byName: Send = async (id, sandbox, { host }, { authority }) => {
  const servername = `${tlsPort}--${sandbox}--${home}.${domain}`;
  const socket = connect({ host, port: byNamePort, servername, ca: authority, checkServerIdentity: () => undefined });
  let received = "";
  let fault = "the connection was closed";
  const over = once(socket, "close");
  const message = namedMessage(id);
  socket.on("error", (error) => (fault = error.message));
  socket.on("data", (bytes: Buffer) => {
    received += bytes.toString();
    if (received.length >= message.length) socket.destroy();
  });
  socket.write(message);
  await over;
  return received === message ? undefined : `${fault}, having received ${JSON.stringify(received)}`;
};

const body = "x".repeat(10_000);

/** Every kind of request. */
export const requests: readonly SweepKind[] = [
  request("get", byHttp(false)),
  request("post", byHttp(false, body)),
  request("get2", byHttp(true)),
  request("post2", byHttp(true, body)),
  request("grpc-unary", byGrpc("Unary")),
  request("grpc-stream", byGrpc("ServerStream")),
  request("web-unary", byGrpcWeb(connectOverHttp1, "Unary")),
  request("web-stream", byGrpcWeb(connectOverHttp2, "ServerStream")),
  request("by-name", byName, { autoResume: { allowFrom: "Any" } }),
];
