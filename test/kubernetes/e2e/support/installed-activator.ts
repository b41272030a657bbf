import { type IncomingMessage, request } from "node:http";
import WebSocket from "ws";
import { secretType, serviceType } from "../../../../api/kinds/core.ts";
import { release } from "../../../../cluster/release/install-chart.ts";
import { systemClock } from "../../../../lib/time/clock.ts";
import type { ClusterUnderTest } from "../../support/cluster-under-test.ts";
import type { ProgramAnswer } from "./program.ts";

export interface Answer {
  readonly status: number;
  /** `X-Rouse-Reason`: set if the activator itself has answered. */
  readonly reason: string | undefined;
  /** `X-Rouse-Started`. */
  readonly started: string | undefined;
  readonly body: string;
  readonly tookMs: number;
}

interface Question {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The target of a request. */
export interface Address {
  readonly namespace: string;
  readonly name: string;
}

export type InstalledActivator = Awaited<ReturnType<typeof findActivator>>;

// Longer than any request here may take. A request without a response fails its test by this limit, with a message.
const longestWaitMs = 150_000;

/**
 * The activator of the chart, with the chart's token; from the node, by its Service or by the address of one
 * of its Pods.
 */
export async function findActivator({ client }: Pick<ClusterUnderTest, "client">, podIp?: string) {
  const { namespace } = release;
  const service = await client.get(serviceType, { namespace, name: "sandbox-router-svc" });
  const secret = await client.get(secretType, { namespace, name: "sandbox-router-token" });
  const token = Buffer.from(secret.data?.["token"] ?? "", "base64").toString();
  const host = podIp ?? service.spec?.clusterIP ?? "";
  const port = 8080;
  const headersFor = ({ name, namespace }: Address) => ({
    host: `${name}.${namespace}.sandbox.localhost`,
    authorization: `Bearer ${token}`,
  });

  /** One request on a new connection. Rejects if the connection is refused or cut. */
  function ask(to: Address, { method = "GET", path = "/", headers = {} }: Question = {}): Promise<Answer> {
    const startMs = systemClock.ticksMs();
    return new Promise((resolve, reject) => {
      const options = { host, port, method, path, agent: false, headers: { ...headersFor(to), ...headers } };
      const outgoing = request(options, (response) => {
        bodyOf(response).then((body) => {
          const [reason, started] = ["x-rouse-reason", "x-rouse-started"].map((name) =>
            response.headers[name]?.toString(),
          );
          const tookMs = systemClock.ticksMs() - startMs;
          resolve({ status: response.statusCode ?? 0, reason, started, body, tookMs });
        }, reject);
      });
      outgoing.on("error", reject);
      outgoing.setTimeout(longestWaitMs, () => outgoing.destroy(new Error(`${to.name} has not answered in time`)));
      outgoing.end();
    });
  }

  return {
    token,
    ask,
    /** The response of the sandbox's own program. */
    async askProgram(to: Address, question?: Question): Promise<ProgramAnswer & { readonly tookMs: number }> {
      const { status, reason, body, tookMs } = await ask(to, question);
      if (status !== 200) throw new Error(`${to.name} has answered ${status} ${reason ?? ""} ${body}`);
      return { ...(JSON.parse(body) as ProgramAnswer), tookMs };
    },
    /** An open WebSocket. */
    openWebSocket(to: Address, path: string): Promise<WebSocket> {
      const socket = new WebSocket(`ws://${host}:${port}${path}`, {
        headers: headersFor(to),
        handshakeTimeout: 30_000,
      });
      return new Promise((resolve, reject) => {
        socket.once("open", () => resolve(socket));
        socket.once("error", reject);
      });
    },
  };
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) body += chunk;
  return body;
}
