import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { serviceType } from "../../../api/kinds/core.ts";
import { run } from "../../../cluster/command.ts";
import { release } from "../../../cluster/release/install-chart.ts";
import { messageFrame, webBodyOf } from "../../support/grpc/web-frames.ts";
import { type Http2Answer, openHttp2Client } from "../../support/http2-client.ts";
import { type ClusterUnderTest, connectToCluster } from "../support/cluster-under-test.ts";
import { eventually } from "../support/eventually.ts";
import { findActivator } from "./support/installed-activator.ts";
import { program } from "./support/program.ts";
import { replicasOf } from "./support/replicas.ts";
import { openSandboxes, sandboxNamed } from "./support/sandboxes.ts";
import { startTraffic } from "./support/traffic.ts";

const chart = join(import.meta.dirname, "..", "..", "..", "charts", "rouse");
const [httpPort, callPort] = [8888, 50051];

/** Beside the usual program: an echo of gRPC calls, and of data after an upgrade. */
const everything = `${program}
server.on("upgrade", (request, socket) => {
  const key = request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  const proof = require("node:crypto").createHash("sha1").update(key).digest("base64");
  socket.on("error", () => {});
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Accept: " + proof + "\\r\\n\\r\\n");
  socket.pipe(socket);
});
const calls = require("node:http2").createServer();
calls.on("stream", (stream) => {
  stream.on("error", () => {});
  stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.pipe(stream);
});
calls.listen(${callPort});
`;

let cluster: ClusterUnderTest;
beforeAll(async () => {
  cluster = await connectToCluster();
  await upgradeTo({ prefix: "/s" });
});
afterAll(async () => {
  await upgradeTo({ prefix: "" });
  await cluster[Symbol.asyncDispose]();
});

async function upgradeTo({ prefix }: { readonly prefix: string }): Promise<void> {
  const inRelease = [`--kubeconfig=${inject("kubeconfig")}`, `--namespace=${release.namespace}`];
  const values = [`--set=activator.pathRouting.prefix=${prefix}`];
  const flags = ["--reuse-values", ...values, "--wait", "--timeout=180s"];
  await run(inject("helm"), ["upgrade", release.name, chart, ...inRelease, ...flags]);
}

/** How a client asks the sandbox once, on a connection of its own. */
type Way = (to: { readonly name: string; readonly namespace: string }) => Promise<void>;

/** All ways by HTTP/2, through the Service of the activators. Each rejects unless the whole answer is right. */
async function waysIn(): Promise<Readonly<Record<string, Way>>> {
  const { namespace } = release;
  const { spec } = await cluster.client.get(serviceType, { namespace, name: "sandbox-router-svc" });
  const { token } = await findActivator(cluster);
  const authorization = `Bearer ${token}`;
  const origin = `http://${spec?.clusterIP}:8080`;
  const ask = async (headers: Readonly<Record<string, string>>, body?: string | Buffer): Promise<Http2Answer> => {
    using client = openHttp2Client(origin);
    const answer = await client.ask({ authorization, ...headers }, body);
    if (answer.status !== 200 || answer.code !== 0) throw new Error(JSON.stringify(answer));
    return answer;
  };
  const call = { ":method": "POST", ":path": "/test.Echo/Unary", te: "trailers" };
  const message = messageFrame("hello");
  const hostOf = (port: number, { name, namespace }: Parameters<Way>[0]) =>
    `${port}--${name}--${namespace}.sandbox.localhost`;
  return {
    "HTTP/2": async (to) => void JSON.parse((await ask({ ":authority": hostOf(httpPort, to) })).body),
    async path({ name, namespace }) {
      JSON.parse((await ask({ ":path": `/s/${namespace}/${name}/${httpPort}/` })).body);
    },
    async gRPC(to) {
      const type = { "content-type": "application/grpc" };
      const { trailers, body } = await ask({ ...call, ...type, ":authority": hostOf(callPort, to) }, message);
      expect([trailers[trailers.indexOf("grpc-status") + 1], body]).toEqual(["0", message.toString("latin1")]);
    },
    async "gRPC-Web"(to) {
      const type = { "content-type": "application/grpc-web" };
      const { body } = await ask({ ...call, ...type, ":authority": hostOf(callPort, to) }, message);
      expect(webBodyOf(body)).toMatchObject({ messages: ["hello"], trailers: { "grpc-status": "0" }, isWhole: true });
    },
    async "WebSocket over HTTP/2"(to) {
      using client = openHttp2Client(origin);
      await once(client.session, "remoteSettings");
      const tunnel = { ":method": "CONNECT", ":protocol": "websocket", "sec-websocket-version": "13", authorization };
      const stream = client.open({ ...tunnel, ":authority": hostOf(httpPort, to) });
      stream.write("hello");
      const [data] = await once(stream, "data", { signal: AbortSignal.timeout(60_000) });
      if (String(data) !== "hello") throw new Error(`an echo of ${data}`);
    },
  };
}

it("wakes a sandbox by each protocol, and loses nothing of any while one of two activators leaves", async () => {
  await using test = await openSandboxes(cluster);
  const command = ["node", "--eval", everything];
  await test.apply(sandboxNamed("all", { container: { command } }));
  const ways = await waysIn();
  for (const [name, way] of Object.entries(ways)) {
    await test.untilAsleep("all");
    await way(test.at("all")).catch((error: unknown) => expect(error, name).toBeUndefined());
    await test.pause("all");
  }
  await test.untilAsleep("all");
  const [leaving, other] = await replicasOf(cluster, "sandbox-router");
  if (!leaving || !other) throw new Error("there are no two activators");
  await using stack = new AsyncDisposableStack();
  const traffics = Object.entries(ways).map(([name, way]) => {
    return { name, traffic: stack.use(startTraffic(() => way(test.at("all")))) };
  });
  await eventually(() => traffics.every(({ traffic }) => traffic.answered > 5));
  // SIGTERM, and a drain.
  const inRelease = [`--namespace=${release.namespace}`];
  await cluster.kubectl.run([...inRelease, "delete", "pod", leaving.metadata.name]);
  await cluster.kubectl.run([...inRelease, "rollout", "status", "deployment/sandbox-router", "--timeout=180s"]);
  for (const { name, traffic } of traffics) {
    await traffic.stop();
    expect({ name, failures: traffic.failures }).toEqual({ name, failures: [] });
  }
}, 600_000);
