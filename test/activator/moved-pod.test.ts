import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { type PodStatus, podType } from "../../api/kinds/core.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../support/eventually.ts";
import { unresponsiveProgram } from "../support/fakes/unresponsive-program.ts";
import { EchoClient, startEchoServer } from "../support/grpc/echo-service.ts";
import {
  type ActivatorWorld,
  heldRequests,
  httpProgram,
  openActivatorWorld,
  sandboxPort,
} from "../support/labs/activator-world.ts";
import { nextLoopbackAddress } from "../support/sockets/loopback-address.ts";

const nova = { namespace: "default", name: "nova" };

/** The Pod of nova keeps its UID. */
async function report(
  { api }: ActivatorWorld,
  status: Pick<PodStatus, "podIP" | "phase" | "conditions">,
): Promise<void> {
  const { podIP } = status;
  const body = { status: { ...status, ...(podIP && { podIPs: [{ ip: podIP }] }) } };
  await api.client.patch(podType, nova, { type: "merge", body }, { subresource: "status" });
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

function ask({ activator }: ActivatorWorld, method = "GET"): Promise<Answer> {
  const headers = { "x-sandbox-id": "nova" };
  return new Promise((resolve, reject) => {
    const asked = request(
      { port: activator.proxyPort, host: "127.0.0.1", agent: false, method, headers },
      (response) => {
        let text = "";
        response.on("data", (bytes: Buffer) => (text += bytes.toString()));
        response.on("end", () => resolve({ status: response.statusCode, text }));
      },
    );
    asked.on("error", reject).end();
  });
}

const saying = (text: string) =>
  httpProgram(
    (_, response) => response.setHeader("Keep-Alive", "timeout=60").end(text),
    (server) => {
      server.keepAliveTimeout = 60_000;
    },
  );

describe("a Pod that gets another address", () => {
  it("is sent nothing at the former one, though idle connections to it are open", async () => {
    await using world = await openActivatorWorld();
    await world.awake("nova", saying("former"));
    expect((await ask(world)).text).toBe("former");
    const podIP = nextLoopbackAddress();
    await using _program = await saying("new")(podIP);
    await report(world, { podIP });
    await eventually(async () => (await ask(world)).text === "new");
    expect((await ask(world, "POST")).text).toBe("new");
  });

  it("gets a request whose connection to the former one was awaited", async () => {
    await using world = await openActivatorWorld(["--connect-timeout=300s"]); // longer than the test takes
    const { program, stopResponding } = unresponsiveProgram();
    await world.awake("nova", program);
    await ask(world);
    await stopResponding();
    const asked = ask(world);
    await eventually(async () => (await heldRequests(world)) === 1);
    const podIP = nextLoopbackAddress();
    await using _program = await saying("new")(podIP);
    await report(world, { podIP });
    expect(await asked).toEqual({ status: 200, text: "new" });
  });

  it("gets the next call of gRPC, though a connection to the former one is open", async () => {
    await using world = await openActivatorWorld(["--http2"]);
    await world.awake("nova", (ip) => startEchoServer(sandboxPort, ip));
    using client = new EchoClient(`127.0.0.1:${world.activator.proxyPort}`, "nova.default.sandbox.localhost");
    expect((await client.call("Unary", ["one"])).code).toBe(0);
    const podIP = nextLoopbackAddress();
    await using program = await startEchoServer(sandboxPort, podIP);
    await report(world, { podIP });
    await eventually(async () => {
      await client.call("Unary", ["two"]);
      return program.seen.ended > 0;
    });
  });
});

it("a Pod that gets a former address back is young there: its readiness probes are tried again", async () => {
  await using world = await openActivatorWorld();
  const probed = { isReady: true, count: 0 };
  const httpGet = { path: "/ready", port: sandboxPort };
  const containers = [{ name: "main", image: "program", readinessProbe: { httpGet } }];
  const program = httpProgram((asked, response) => {
    if (asked.url !== "/ready") return void response.end("here");
    probed.count += 1;
    response.writeHead(probed.isReady ? 200 : 503).end();
  });
  await world.awake("nova", program, { podTemplate: { spec: { containers } } });
  expect((await ask(world)).text).toBe("here");
  const former = (await world.api.client.get(podType, nova)).status?.podIP ?? "";
  const podIP = nextLoopbackAddress();
  await using _elsewhere = await saying("elsewhere")(podIP);
  await report(world, { podIP });
  await eventually(async () => (await ask(world)).text === "elsewhere");
  Object.assign(probed, { isReady: false, count: 0 });
  const now = new Date().toISOString();
  const conditions = [{ type: "Ready", status: "False", lastTransitionTime: now }] as const;
  await report(world, { podIP: former, conditions: [...conditions] });
  const answers: string[] = [];
  const asked: Promise<number>[] = [];
  await eventually(() => {
    asked.push(ask(world).then(({ text }) => answers.push(text)));
    return probed.count > 0;
  });
  expect(answers).not.toContain("here");
  probed.isReady = true;
  await Promise.all(asked);
  expect(answers).toContain("here");
});

describe.each([
  { what: "gets another address", now: () => ({ podIP: nextLoopbackAddress() }) },
  { what: "ends", now: () => ({ phase: "Failed" as const }) },
])("a request in flight to a Pod that $what without a word", ({ now }) => {
  it("fails after 5 s", async () => {
    const clock = new FakeClock();
    await using world = await openActivatorWorld([], {}, { clock });
    let asked = 0;
    await world.awake(
      "nova",
      httpProgram(() => {
        asked += 1;
      }),
    );
    const answer = ask(world);
    await eventually(async () => {
      await clock.advance(10);
      return asked > 0;
    });
    await report(world, now());
    let status: number | undefined;
    void answer.then((each) => (status = each.status));
    let waitedMs = 0;
    await eventually(async () => {
      await clock.advance(100);
      waitedMs += 100;
      return status !== undefined;
    });
    expect(status).toBe(502);
    expect(waitedMs).toBeGreaterThanOrEqual(5_000);
  });
});
