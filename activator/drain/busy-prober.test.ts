import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { type BusyAnswer, drainPaths } from "../../api/between-programs/drain-protocol.ts";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sealedPodAnnotation } from "../../api/rules/keys.ts";
import { formatSeal } from "../../api/rules/suspension.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { aPodOf, aSandbox } from "../../test/support/builders/builders.ts";
import { observed, promised } from "../../test/support/drain-questions.ts";
import {
  type ActivatorWorld,
  httpProgram,
  openActivatorWorld,
  sandboxPort,
} from "../../test/support/labs/activator-world.ts";
import { nextLoopbackAddress } from "../../test/support/sockets/loopback-address.ts";
import { PodFences } from "../activity/pod-fences.ts";
import { BusyProber, workloadsAskedMax } from "./busy-prober.ts";

const nova = { namespace: "default", name: "nova" };
const drained = ["--drain-bind-address=127.0.0.1:0"];
const busyProbe = { httpGet: { path: "/busy", port: sandboxPort } };
const fencedTotal = /^rouse_activator_pods_fenced_total (\d+)/m;
const probed = { autoSuspension: { busyProbe } };

async function questionAbout({ api }: ActivatorWorld, name = "nova") {
  const { metadata } = await api.client.get(sandboxType, { ...nova, name });
  const pod = await api.client.get(podType, { ...nova, name });
  const { uid, generation = 0 } = metadata;
  return { sandbox: { ...nova, name, uid }, podUid: pod.metadata.uid, generation };
}

async function busy({ activator }: ActivatorWorld, question: object): Promise<BusyAnswer> {
  const init = { method: "POST", body: JSON.stringify(question) };
  return (await (await fetch(`http://127.0.0.1:${activator.drainPort}${drainPaths.busy}`, init)).json()) as BusyAnswer;
}

describe("a busy probe by the activator", () => {
  it("uses the Sandbox's spec alone, and counts as no activity", async () => {
    const asked: string[] = [];
    await using world = await openActivatorWorld(drained);
    const program = httpProgram((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(503).end();
    });
    await world.awake("nova", program, probed);
    const question = await questionAbout(world);
    const more = { host: "192.0.2.1", path: "/admin", port: 1, scheme: "HTTPS" };
    expect(await busy(world, { ...question, ...more })).toEqual({ asked: true, status: 503 });
    expect(asked).toEqual(["GET /busy"]);
    expect(await observed(world)).toEqual({ inFlight: 0 });
  });

  it("reports a workload that does not answer", async () => {
    await using world = await openActivatorWorld(drained);
    await world.awake("nova", undefined, probed);
    expect(await busy(world, await questionAbout(world))).toEqual({ asked: true });
  });

  it("is sent to no foreign Pod, no unknown Pod, and no later generation", async () => {
    let asked = 0;
    await using world = await openActivatorWorld(drained);
    const program = httpProgram((_request, response) => {
      asked += 1;
      response.end();
    });
    await world.awake("nova", program, probed);
    await world.awake("other", program, probed);
    const question = await questionAbout(world);
    const { podUid } = await questionAbout(world, "other");
    const wrong = [
      { ...question, podUid },
      { ...question, podUid: "made-up" },
      { ...question, sandbox: { ...question.sandbox, uid: "made-up" } },
      { ...question, sandbox: { ...question.sandbox, name: "other" } },
      { ...question, generation: question.generation + 1 },
    ];
    const answers = await Promise.all(wrong.map((each) => busy(world, each)));
    // Questions about that Pod get this reason; the others get the reason that it is not seen.
    expect(answers.filter((answer) => answer.asked)).toEqual([]);
    expect(await busy(world, { ...question, podUid })).toEqual({ asked: false, reason: "NotSeen" });
    expect(asked).toBe(0);
  });

  it("is not sent if the Sandbox has no probe", async () => {
    await using world = await openActivatorWorld(drained);
    await world.awake("nova");
    expect(await busy(world, await questionAbout(world))).toEqual({ asked: false, reason: "NoProbe" });
  });

  it("is not sent to a fenced Pod, and wakes no sandbox", async () => {
    let asked = 0;
    await using world = await openActivatorWorld(drained);
    const program = httpProgram((_request, response) => {
      asked += 1;
      response.end();
    });
    await world.awake("nova", program, probed);
    const question = await questionAbout(world);
    await promised(world);
    expect(await busy(world, question)).toEqual({ asked: false, reason: "Fenced" });
    await world.asleep("dora", program, probed);
    const { uid, generation } = (await world.api.client.get(sandboxType, { ...nova, name: "dora" })).metadata;
    const sleeping = { sandbox: { ...nova, name: "dora", uid }, podUid: "its-last", generation };
    expect(await busy(world, sleeping)).toEqual({ asked: false, reason: "NotSeen" });
    expect((await world.sandbox("dora")).spec.operatingMode).toBe("Suspended");
    expect(asked).toBe(0);
  });

  it.each([
    {
      what: "is fenced",
      reason: "Fenced",
      act: async (world: ActivatorWorld) => expect(await promised(world)).toEqual({ inFlight: 0 }),
    },
    {
      what: "has another address",
      reason: "NotSeen",
      async act({ api }: ActivatorWorld) {
        const podIP = nextLoopbackAddress();
        const body = { status: { podIP, podIPs: [{ ip: podIP }] } };
        await api.client.patch(podType, nova, { type: "merge", body }, { subresource: "status" });
      },
    },
  ])("is cancelled once its Pod $what", async ({ reason, act }) => {
    const ends: string[] = [];
    await using world = await openActivatorWorld(drained);
    const program = httpProgram((request) => {
      ends.push("asked");
      request.socket.on("close", () => ends.push("closed"));
    });
    await world.awake("nova", program, probed);
    const answer = busy(world, await questionAbout(world));
    await expect.poll(() => ends).toEqual(["asked"]);
    await act(world);
    expect(await answer).toEqual({ asked: false, reason });
    await expect.poll(() => ends).toEqual(["asked", "closed"]);
  });

  it("continues when the seal of another sandbox names its Pod", async () => {
    const asked: (() => void)[] = [];
    await using world = await openActivatorWorld(drained);
    const program = httpProgram((_request, response) => void asked.push(() => response.end()));
    await world.awake("nova", program, probed);
    await world.asleep("vega", program);
    const question = await questionAbout(world);
    const answer = busy(world, question);
    await expect.poll(() => asked.length).toBe(1);
    const { podUid } = question;
    const seal = formatSeal({ podName: "nova", podUid, cause: "Person", at: new Date().toISOString() });
    const body = { metadata: { annotations: { [sealedPodAnnotation]: seal } } };
    await world.api.client.patch(sandboxType, { ...nova, name: "vega" }, { type: "merge", body });
    const fenced = async () =>
      (await (await fetch(`${world.activator.opsUrl}/metrics`)).text()).match(fencedTotal)?.[1];
    await expect.poll(fenced).toBe("1");
    asked[0]?.();
    expect(await answer).toEqual({ asked: true, status: 200 });
  });
});

/** Takes connections and never answers. */
async function openHole() {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.resume().on("error", () => {}));
    socket.on("close", () => open.delete(socket));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, open, [Symbol.dispose]: () => void server.close() };
}

/** An asker on a fake clock, to whom sandboxes are known that are probed at one port. */
function anAsker(port: number) {
  const clock = new FakeClock();
  const state = { silentMs: 0, isHere: true };
  const sandboxOf = (name: string) =>
    aSandbox({ autoSuspension: { busyProbe: { httpGet: { port } } } }, { name, uid: `uid-${name}` });
  const podOf = (name: string) =>
    aPodOf(sandboxOf(name), { uid: `pod-${name}` }, { phase: "Running", podIP: "127.0.0.1" });
  const rings: (() => void)[] = [];
  const ring = () => {
    for (const each of rings.splice(0)) each();
  };
  const cluster = {
    sandbox: (_namespace: string, name: string) => (state.isHere ? sandboxOf(name) : undefined),
    podOf: ({ metadata }: { metadata: { name: string } }) => podOf(metadata.name),
    listen: () => ({
      next: () => new Promise<void>((resolve) => rings.push(resolve)),
      reset: () => {},
      notify: ring,
      [Symbol.dispose]: () => {},
    }),
    silentMs: () => state.silentMs,
  };
  const fences = new PodFences({ onFenced: () => {}, hasPod: () => false });
  const asker = new BusyProber({ clock, fences, cluster: () => cluster, allowLoopbackPodIp: true });
  const ask = (name: string) => {
    const sandbox = { namespace: "lab", name, uid: `uid-${name}` };
    return asker.ask({ sandbox, podUid: `pod-${name}`, generation: 1 });
  };
  return { clock, asker, ask, state, ring };
}

describe("busy probes for the controller", () => {
  it("have 5 s, a bounded number at a time, and one for each Pod", async () => {
    using hole = await openHole();
    const { clock, asker, ask } = anAsker(hole.port);
    using _ended = asker;
    const answers: BusyAnswer[] = [];
    const note = (answer: BusyAnswer) => void answers.push(answer);
    for (let index = 0; index < workloadsAskedMax; index += 1) ask(`nova-${index}`).then(note);
    const again = ask("nova-0");
    expect(await ask("one-more")).toEqual({ asked: false, reason: "TooMany" });
    await expect.poll(() => hole.open.size).toBe(workloadsAskedMax);
    await clock.advance(4_999);
    expect(answers).toEqual([]);
    await asTimePasses(clock, () => expect(answers).toHaveLength(workloadsAskedMax));
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(new Set(['{"asked":true}']));
    expect(await again).toEqual({ asked: true });
    await expect.poll(() => hole.open.size).toBe(0);
  });

  it("wait up to 1 s for the view to catch up with the controller's", async () => {
    const server = createHttpServer((_request, response) => response.end()).listen(0, "127.0.0.1");
    await once(server, "listening");
    using _server = { [Symbol.dispose]: () => void server.close() };
    const { clock, ask, state, ring } = anAsker((server.address() as AddressInfo).port);
    state.isHere = false;
    const early = ask("nova");
    state.isHere = true;
    ring();
    expect(await early).toEqual({ asked: true, status: 200 });
    state.isHere = false;
    let late: BusyAnswer | undefined;
    ask("nova").then((answer) => {
      late = answer;
    });
    await clock.advance(999);
    expect(late).toBeUndefined();
    await asTimePasses(clock, () => expect(late).toEqual({ asked: false, reason: "NotSeen" }));
  });

  it("are not sent after two minutes of silence of the API server", async () => {
    const { clock, ask, state } = anAsker(1);
    state.silentMs = 120_001;
    let answer: BusyAnswer | undefined;
    ask("nova").then((answered) => {
      answer = answered;
    });
    await asTimePasses(clock, () => expect(answer).toEqual({ asked: false, reason: "NotSeen" }));
  });
});
