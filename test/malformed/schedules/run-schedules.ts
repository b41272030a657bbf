import type { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import type { YieldedConnection } from "../../../activator/front.ts";
import { resetSocket } from "../../../activator/socket/reset-socket.ts";
import { onUnexpectedError } from "../../../lib/guard/guard.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { Random } from "../../http1/random.ts";
import { openHttp2Client } from "../../support/http2-client.ts";
import { type Backend, dialled, openProxyPath, type ProxyPath } from "../../support/proxy-path.ts";
import { dialledTls, tls } from "../../support/tls-path.ts";
import { FuzzedClient, webCallOf } from "./client.ts";
import { openSandbox } from "./sandbox.ts";
import { plainBody } from "./sandbox-http1.ts";

/** How many clients of a batch are connected at a time. */
const atOnce = 6;
const stepsMax = 18;
/** The longest time of the clock that any limit of the path takes, several times. */
const passSeconds = 4_000;
/** How long real sockets may take to come to rest, and a batch to end. */
const restMs = 8_000;
const batchMs = 60_000;

/** How much time of the clock, and real time, the end of a connection may take to be seen. */
const stepMs = 100;
const leaveSteps = 80;
const leaveRealMs = 2_000;

/** Keeps what is about to be done. */
export type Note = (operation: string) => void;

/** The path of one batch, its clock, and the sockets on its side. */
interface Bed {
  readonly path: ProxyPath;
  readonly secret: boolean;
  readonly clock: FakeClock;
  /** Sockets of clients of HTTP/2, at the front. */
  readonly accepted: YieldedConnection["socket"][];
  /** Sockets of clients. */
  readonly clients: Set<Socket>;
  readonly note: Note;
  /** Lets time pass, unless it is passing. */
  pass(ms: number): Promise<void>;
}

/**
 * Runs so many schedules of clients and sandboxes against the front for HTTP/2. Afterwards the front must hold nothing, and answer.
 *
 * @throws Error if it does not.
 */
export async function runBatch(seed: number, schedules: number, note: Note): Promise<void> {
  const late = Promise.withResolvers<never>();
  using _limit = systemClock.after(batchMs, () => late.reject(new Error("the batch does not end")));
  await Promise.race([run(seed, schedules, note), late.promise]);
}

async function run(seed: number, schedules: number, note: Note): Promise<void> {
  const random = new Random(seed);
  const unexpected: unknown[] = [];
  using _watch = onUnexpectedError((where, error) => unexpected.push(`${where}: ${inspected(error)}`));
  await using sandbox = await openSandbox(seed);
  const secret = random.once(2);
  /** The front is disposed of in the middle. */
  const isCutShort = random.once(5);
  {
    const bed = await openBed(sandbox, secret, note);
    await using path = bed.path;
    let begun = 0;
    let isOver = false;
    const next = async (): Promise<void> => {
      while (begun < schedules && !isOver) {
        begun += 1;
        await runSchedule(bed, begun, new Random(seed * 1_000_003 + begun));
        if (isCutShort && begun > schedules / 2) isOver = true;
      }
    };
    const all = Promise.all(Array.from({ length: atOnce }, next));
    if (!isCutShort) await all;
    while (!isOver && isCutShort && begun < schedules) await turn();
    if (isCutShort) {
      note("dispose of the front");
      await path[Symbol.asyncDispose]();
      await all;
    } else await ask(bed);
    if (!isCutShort) await leave(bed, sandbox, random.once(2));
    note("come to rest");
    await rest(bed, sandbox);
  }
  await untilSo(async () => sandbox.open === 0, "connections of the sandbox are left");
  if (unexpected.length > 0) throw new Error(`unexpected errors: ${unexpected.join("\n")}`);
}

const inspected = (error: unknown) => (error instanceof Error ? error.stack : String(error));

async function openBed(sandbox: Backend, secret: boolean, note: Note): Promise<Bed> {
  const clock = new FakeClock();
  const limits = { streamIdleMs: 30_000, tunnelIdleMs: 60_000, unfinishedHeadBytesMax: 40_000 };
  const path = await openProxyPath(sandbox.port, { ...limits, clock, ...(secret && { tls }) });
  const accepted: YieldedConnection["socket"][] = [];
  const { http2 } = path;
  const adopt = http2.adopt.bind(http2);
  http2.adopt = (connection) => {
    accepted.push(connection.socket);
    connection.socket.once("close", () => accepted.splice(accepted.indexOf(connection.socket), 1));
    adopt(connection);
  };
  let passing: Promise<void> | undefined;
  const pass = async (ms: number) => {
    passing ??= clock.advance(ms).finally(() => {
      passing = undefined;
    });
    await passing;
  };
  return { path, secret, clock, accepted, clients: new Set(), note, pass };
}

/** One client from its connection to its end. */
async function runSchedule(bed: Bed, number: number, random: Random): Promise<void> {
  const note = (what: string) => bed.note(`#${number} ${what}`);
  const isWebCall = random.once(10);
  const { port } = bed.path;
  const socket = bed.secret ? await dialledTls(port, isWebCall ? "http/1.1" : "h2") : await dialled(port);
  bed.clients.add(socket);
  socket.once("close", () => bed.clients.delete(socket));
  socket.on("end", () => random.once(2) && socket.end());
  if (isWebCall) {
    note("call of gRPC-Web over HTTP/1.1");
    socket.resume().write(webCallOf(random));
    await turns(random.below(40));
  } else if (random.once(3)) await crowd(bed, new FuzzedClient(socket, random, true), random, note);
  else {
    const client = new FuzzedClient(socket, random, false);
    for (let steps = random.below(stepsMax); steps > 0 && !socket.destroyed; steps -= 1) {
      note(await step(bed, client, random));
      if (random.once(2)) await turns(random.below(random.pick([2, 10, 40])));
    }
  }
  end(socket, random, note);
}

/** Responses that the client does not take fill the connection; then its side or ours ends it, or some of its streams. */
async function crowd(bed: Bed, client: FuzzedClient, random: Random, note: Note): Promise<void> {
  note(client.pause());
  const kinds = ["endless", "endless", "early", "early", "grpc", "webSocket", "web", "get"];
  if (random.once(2)) note(`${client.open("endless")}, ${client.open("early")}`);
  for (let streams = 2 + random.below(5); streams > 0; streams -= 1) {
    note(client.open(random.pick(kinds)));
    if (random.once(3)) note(client.data());
    if (random.once(2)) await turns(random.below(10));
  }
  await untilStuck(bed, client.socket);
  if (random.once(2)) return note(lose(bed, client.socket, random));
  for (let steps = random.below(4); steps > 0 && !client.socket.destroyed; steps -= 1) {
    note(random.once(2) ? await ours(bed, client.socket, random) : await step(bed, client, random));
    await turns(random.below(4));
  }
}

async function step(bed: Bed, client: FuzzedClient, random: Random): Promise<string> {
  return random.pick<() => string | Promise<string>>([
    () => client.open(),
    () => client.open(),
    () => client.open(),
    () => client.data(),
    () => client.data(),
    () => client.data(),
    () => client.trailers(),
    () => client.reset(),
    () => client.reset(),
    () => client.resetAll(),
    () => client.windowUpdate(),
    () => client.windowUpdate(),
    () => client.settings(),
    () => client.control(),
    () => client.leave(),
    () => client.pause(),
    () => client.resume(),
    () => ours(bed, client.socket, random),
  ])();
}

/** Our side loses or closes the connection. */
function lose(bed: Bed, client: Socket, random: Random): string {
  const own = bed.accepted.find(({ remotePort }) => remotePort === client.localPort);
  if (!own) return "our connection is closed";
  return random.pick([
    () => {
      own.destroy();
      return "we destroy the connection";
    },
    () => {
      if ("reset" in own) own.reset();
      else resetSocket(own);
      return "we reset the connection";
    },
    () => {
      own.destroy(new Error("the network is gone"));
      return "our connection fails";
    },
  ])();
}

/** What happens on the side of the activator. */
async function ours(bed: Bed, client: Socket, random: Random): Promise<string> {
  const { http2 } = bed.path;
  return random.pick<() => string | Promise<string>>([
    () => lose(bed, client, random),
    () => lose(bed, client, random),
    () => {
      http2.stopAccepting();
      http2.leaving = false;
      return "we leave all connections";
    },
    () => {
      http2.beginDrain();
      http2.draining = false;
      return "we announce the end of all connections";
    },
    () => {
      http2.endWebSockets();
      return "we end all WebSockets";
    },
    () => {
      bed.path.podGone();
      return "the Pod is gone";
    },
    async () => {
      const ms = random.pick([100, 100, 1_000, 35_000]);
      await bed.pass(ms);
      return `${ms} ms have passed`;
    },
  ])();
}

function end(socket: Socket, random: Random, note: Note): void {
  const [name, act] = random.pick<readonly [string, () => void]>([
    ["end", () => void socket.resume().end(() => setImmediate(() => socket.destroy()))],
    ["destroy", () => void socket.destroy()],
    ["reset", () => resetSocket(socket)],
    ["stay", () => void socket.resume()],
  ]);
  note(name);
  act();
}

const turns = async (count: number): Promise<void> => {
  for (let left = count; left > 0; left -= 1) await turn();
};

/** Until the front writes no more to the client, or for some time. */
async function untilStuck(bed: Bed, client: Socket): Promise<void> {
  const written = () => bed.accepted.find(({ remotePort }) => remotePort === client.localPort)?.bytesWritten;
  let [before, still]: [number | undefined, number] = [-1, 0];
  for (let left = 400; left > 0 && still < 15; left -= 1) {
    await turn();
    const now = written();
    still = now === before ? still + 1 : 0;
    before = now;
  }
}

/** The path still answers. */
async function ask({ path, secret, note }: Bed): Promise<void> {
  note("ask");
  const origin = `${secret ? "https" : "http"}://127.0.0.1:${path.port}`;
  using client = openHttp2Client(origin);
  const { status, body } = await client.ask({ ":path": "/plain", ":authority": "nova.test" });
  if (status !== 200 || body !== plainBody) throw new Error(`a plain request got ${status} ${body}`);
}

/** One side goes, perhaps after the other. Its connections end at once, and no limit is needed. */
async function leave({ path, clients, clock, note }: Bed, sandbox: Backend, isSandboxFirst: boolean): Promise<void> {
  const passUntil = async (isSo: () => boolean, otherwise: string) => {
    for (let steps = 0; !isSo() && steps < leaveSteps; steps += 1) {
      await clock.advance(stepMs);
      await systemClock.sleep(leaveRealMs / leaveSteps);
    }
    if (!isSo()) throw new Error(otherwise);
  };
  if (isSandboxFirst) {
    note("the sandbox goes");
    await sandbox[Symbol.asyncDispose]();
    await passUntil(() => path.sessions === 0, "connections of HTTP/2 to a sandbox that is gone are left");
  }
  note("all clients go");
  for (const client of clients) client.destroy();
  await passUntil(
    () => path.http2.active + path.connections.open === 0,
    "connections of clients that are gone are left",
  );
}

/** Lets the limits of the path pass, until it holds nothing. */
async function rest({ path, pass }: Bed, sandbox: Backend): Promise<void> {
  let isEmpty = false;
  const empty = path.empty().then(() => {
    isEmpty = true;
  });
  empty.catch(() => {});
  for (let seconds = 0; !isEmpty && seconds < passSeconds; seconds += 20) {
    await pass(20_000);
    await systemClock.sleep(1);
  }
  await empty;
  await untilSo(
    async () => sandbox.open <= path.pool.size + path.sessions,
    "the sandbox has more connections than the path",
  );
}

async function untilSo(isSo: () => Promise<boolean>, otherwise: string): Promise<void> {
  const endMs = systemClock.ticksMs() + restMs;
  while (!(await isSo())) {
    if (systemClock.ticksMs() > endMs) throw new Error(otherwise);
    await systemClock.sleep(2);
  }
}
