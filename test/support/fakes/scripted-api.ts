import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Status } from "../../../api/kinds/meta.ts";
import { connectionFor } from "../../../kube/client/connection.ts";
import { createKubeClient, type HttpClient, type KubeClientOptions } from "../../../kube/client/http-client.ts";

/** A request as a scripted server received it. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
  /** Parsed; undefined when there was none. */
  readonly body: unknown;
}

export type Script = (received: Received, response: ServerResponse) => void;

export interface ScriptedServer extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
}

/** A real HTTP server on a free loopback port that answers as the test says, faults included. */
export async function openScriptedServer(script: Script): Promise<ScriptedServer> {
  const received: Received[] = [];
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://server");
    const one: Received = {
      method: request.method ?? "",
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: request.headers,
      body: text === "" ? undefined : JSON.parse(text),
    };
    received.push(one);
    script(one, response);
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface ScriptedApi extends ScriptedServer {
  readonly client: HttpClient;
}

/** A scripted server with a client. */
export async function openScriptedApi(
  script: Script,
  options: Partial<KubeClientOptions> & { readonly token?: string; readonly path?: string } = {},
): Promise<ScriptedApi> {
  const { token, path = "", ...rest } = options;
  const server = await openScriptedServer(script);
  const connection = connectionFor({ server: server.url + path, ...(token !== undefined && { token }) });
  const client = createKubeClient(connection, { userAgent: "rouse-test", ...rest });
  return {
    ...server,
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

export function answerJson(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** The body of an error response. */
export const aFailure = (code: number, reason: string, message = reason): Status => ({
  apiVersion: "v1",
  kind: "Status",
  status: "Failure",
  code,
  reason,
  message,
});
