import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { dialled, openBackend } from "../../test/support/proxy-path.ts";
import { dial } from "../connect/dial.ts";
import type { Target } from "../sandbox/resolve.ts";
import { BufferLoans } from "../socket/read-place.ts";
import { adoptAccepted, plainAcceptedSocket } from "../socket/wire-socket.ts";
import { Sweep } from "../sweep.ts";
import { TcpClient } from "./connection/tcp-client.ts";
import { relayTcp } from "./connection/tcp-tunnel.ts";

const listener = { clientSends() {}, moved() {}, clientSpoke() {}, sandboxSpoke() {}, requestEnded() {} };

async function relaying(backendPort: number) {
  const clock = new FakeClock();
  const sweep = new Sweep(clock);
  const options = { loans: new BufferLoans(8), clock, sweep, tunnelIdleMs: 3_600_000, tunnelLifetimeMs: 0 };
  const target: Target = {
    namespace: "default",
    ip: "127.0.0.1",
    port: backendPort,
    podUid: "p1",
    probes: [],
    young: false,
  };
  const ended = Promise.withResolvers<string>();
  const front = createServer(plainAcceptedSocket, async (accepted) => {
    const client = Promise.withResolvers<TcpClient>();
    adoptAccepted(accepted, (socket) => {
      const made = new TcpClient(socket, clock);
      client.resolve(made);
      return made;
    });
    const socket = await dial(target, 5_000, systemClock, new AbortController().signal);
    ended.resolve(await relayTcp(await client.promise, { target, socket }, () => listener, options));
  });
  front.listen(0, "127.0.0.1");
  await once(front, "listening");
  const client: Socket = await dialled((front.address() as AddressInfo).port);
  const seen = { text: "", failed: "" };
  client.on("data", (bytes) => (seen.text += bytes.toString("latin1")));
  client.on("error", (error: NodeJS.ErrnoException) => (seen.failed = error.code ?? ""));
  client.write("ask");
  return { clock, sweep, seen, ended: ended.promise, [Symbol.dispose]: () => void front.close() };
}

it("a raw connection waits 5 s at most for the end of a gone Pod, and is reset", async () => {
  await using backend = await openBackend((socket) => {
    socket.once("data", () => socket.write("rows"));
  });
  using lab = await relaying(backend.port);
  await eventually(() => lab.seen.text === "rows");
  await lab.clock.advance(200);
  lab.sweep.podGone({ podUid: "p1", ip: "127.0.0.1" });
  await lab.clock.advance(4_900);
  expect([lab.sweep.size, lab.seen.failed]).toEqual([1, ""]);
  await lab.clock.advance(300);
  expect(await lab.ended).toBe("relayed");
  await eventually(() => lab.seen.failed === "ECONNRESET");
});
