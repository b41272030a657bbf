import { request as httpRequest } from "node:http";
import { openHttp2Client } from "../support/http2-client.ts";
import type { ActivatorReplica } from "./activator-replica.ts";

export interface Visit {
  readonly id: string;
  readonly sandbox: string;
  /** The request body; with a body the request is a POST. */
  readonly body?: string;
  readonly afterMs?: number;
  readonly drips?: number;
  readonly dripEveryMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** By HTTP/2 in clear text; absent: by HTTP/1.1. */
  readonly isHttp2?: boolean;
}

/** What a client saw: a response, or a broken connection. */
export type Outcome =
  | { readonly status: number; readonly body: string }
  | { readonly status: "broken"; readonly body: string };

/** One request to a sandbox, by a client that never retries. */
export function visit({ host, port }: Pick<ActivatorReplica, "host" | "port">, asked: Visit): Promise<Outcome> {
  const { id, sandbox, body, afterMs = 0, drips = 0, dripEveryMs = 0 } = asked;
  const query = new URLSearchParams({ id, after: `${afterMs}`, drips: `${drips}`, every: `${dripEveryMs}` });
  const headers = {
    ...{ "x-sandbox-id": sandbox, ...asked.headers },
    ...(body !== undefined && { "content-length": `${Buffer.byteLength(body)}` }),
  };
  const method = body === undefined ? "GET" : "POST";
  if (asked.isHttp2)
    return visitHttp2(`http://${host}:${port}`, { ...headers, ":method": method, ":path": `/work?${query}` }, body);
  return new Promise((resolve) => {
    const broke = (error: Error) => resolve({ status: "broken", body: error.message });
    const outgoing = httpRequest({ host, port, method, path: `/work?${query}`, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
      response.on("error", broke);
    });
    outgoing.on("error", broke);
    outgoing.end(body);
  });
}

async function visitHttp2(origin: string, headers: Record<string, string>, content?: string): Promise<Outcome> {
  using client = openHttp2Client(origin);
  const { status, body, code } = await client.ask(headers, content);
  return code === 0 && status !== 0 ? { status, body } : { status: "broken", body: `reset with ${code}` };
}
