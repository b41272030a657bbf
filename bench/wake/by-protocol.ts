import { request } from "node:http";
import { connect } from "node:http2";
import { join } from "node:path";
import { type Sandbox, sandboxType } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type Spread, spreadOf } from "../statistics.ts";
import { putToSleep, type Target } from "./our-client.ts";

type Protocol = "http1" | "grpc";
const protocols: readonly Protocol[] = ["http1", "grpc"];
const namespace = "default";
const field = "listening-since-ms";
const answeredWithinMs = 30_000;

const nameOf = (protocol: Protocol) => `wake-${protocol}`;
const nowMs = () => performance.timeOrigin + performance.now();

/** The wake taxes of a request of HTTP/1.1 and of a call of gRPC, in milliseconds. The two protocols take turns. */
export async function measureByProtocol(
  client: KubeClient,
  target: Target,
  rounds: number,
): Promise<readonly (readonly [string, Spread])[]> {
  for (const protocol of protocols) await client.create(sandboxType, sandboxOf(protocol));
  const taxes: Record<Protocol, number[]> = { http1: [], grpc: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const protocol of protocols) {
      await putToSleep(client, { namespace, name: nameOf(protocol) });
      taxes[protocol].push(await (protocol === "http1" ? getOnce(target) : callOnce(target)));
    }
  }
  return [
    ["wake tax, HTTP/1.1", spreadOf(taxes.http1)],
    ["wake tax, gRPC", spreadOf(taxes.grpc)],
  ];
}

/** Both programs are alike but for the protocol. */
function sandboxOf(protocol: Protocol): Sandbox {
  const command = [process.execPath, join(import.meta.dirname, "reporting-sandbox.mjs"), protocol];
  const env = [{ name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }];
  const container = { name: "program", image: "none", command, env, ports: [{ containerPort: 8888 }] };
  return {
    ...{ apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" },
    metadata: { name: nameOf(protocol), namespace },
    spec: {
      autoResume: { trigger: "Connection" },
      podTemplate: { spec: { terminationGracePeriodSeconds: 5, containers: [container] } },
    },
  };
}

const hostOf = (protocol: Protocol, { domain }: Target) => `${nameOf(protocol)}.${namespace}.${domain}`;

/** One request on a new connection. */
function getOnce(target: Target): Promise<number> {
  const { hostname, port } = new URL(target.activator);
  return new Promise((resolve, reject) => {
    const asked = { hostname, port, path: "/", headers: { host: hostOf("http1", target) }, agent: false } as const;
    const outgoing = request({ ...asked, timeout: answeredWithinMs }, (response) => {
      resolve(nowMs() - Number(response.resume().headers[field]));
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error("no answer in time"))).on("error", reject);
    outgoing.end();
  });
}

/** One call with an empty message, on a new connection. */
async function callOnce(target: Target): Promise<number> {
  const session = connect(target.activator);
  try {
    return await new Promise((resolve, reject) => {
      session.on("error", reject);
      const call = session.request({
        ...{ ":method": "POST", ":path": "/bench.Calls/Unary", ":authority": hostOf("grpc", target) },
        ...{ "content-type": "application/grpc", te: "trailers" },
      });
      call.setTimeout(answeredWithinMs, () => call.destroy(new Error("no answer in time")));
      call.on("response", (headers) => resolve(nowMs() - Number(headers[field])));
      call.on("error", reject).resume();
      call.end(Buffer.alloc(5));
    });
  } finally {
    session.close();
  }
}
