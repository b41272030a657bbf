import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it } from "vitest";
import { dial } from "../../activator/connect/dial.ts";
import { BufferLoans } from "../../activator/socket/read-place.ts";
import { adoptAccepted, plainAcceptedSocket } from "../../activator/socket/wire-socket.ts";
import { Sweep } from "../../activator/sweep.ts";
import { TcpClient } from "../../activator/tcp-front/connection/tcp-client.ts";
import { relayTcp } from "../../activator/tcp-front/connection/tcp-tunnel.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../support/eventually.ts";
import { dialled, openBackend } from "../support/proxy-path.ts";

it("a raw connection forwards nothing of a client that sends before the turn in which it is closed", async () => {
  let got = "";
  await using backend = await openBackend((socket) => {
    socket.on("data", (bytes) => (got += bytes.toString("latin1")));
  });
  const clock = systemClock;
  using sweep = new Sweep(clock);
  const options = { loans: new BufferLoans(8), clock, sweep, tunnelIdleMs: 0, tunnelLifetimeMs: 0 };
  const target = { namespace: "default", ip: "127.0.0.1", port: backend.port, podUid: "p1", probes: [], young: false };
  let isFenced = false;
  const ended = Promise.withResolvers<string>();
  const front = createServer(plainAcceptedSocket, async (accepted) => {
    const client = Promise.withResolvers<TcpClient>();
    adoptAccepted(accepted, (socket) => {
      const made = new TcpClient(socket, clock);
      client.resolve(made);
      return made;
    });
    const socket = await dial(target, 5_000, clock, new AbortController().signal);
    const listener = { moved() {}, clientSpoke() {}, sandboxSpoke() {}, requestEnded() {} };
    const ending = relayTcp(
      await client.promise,
      { target, socket },
      (connection) => ({ ...listener, clientSends: () => isFenced && connection.close() }),
      options,
    );
    ended.resolve(await ending);
  });
  front.listen(0, "127.0.0.1");
  await once(front, "listening");
  using _front = { [Symbol.dispose]: () => void front.close() };
  const client = await dialled((front.address() as AddressInfo).port);
  client.on("error", () => {});
  client.write("before");
  await eventually(() => got === "before");
  isFenced = true;
  client.write("after");
  expect(await ended.promise).toBe("closedForSleep");
  expect(got).toBe("before");
});
