import { once } from "node:events";
import { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { openSockets } from "../../socket/open-sockets.ts";
import { Sweep } from "../../sweep.ts";
import { Handshakes } from "./handshakes.ts";

/** All are connections of one client port, as where the close of the first is reported after the accept of the second. */
class Accepted extends Socket {
  override readonly remoteAddress = "10.0.0.5";
  override readonly remotePort = 1_000;
  override readonly localAddress = "10.0.0.1";
}

it("a handshake that succeeded leaves the one of the next connection from the same port in progress", async () => {
  const clock = new FakeClock();
  await using sweep = new Sweep(clock);
  const failed: string[] = [];
  const onFailed = (failure: string) => void failed.push(failure);
  const handshakes = new Handshakes({ clock, sweep, limitMs: 1_000, onFailed, onClosed: () => {} });
  const before = openSockets();
  const first = new Accepted();
  const second = new Accepted();
  handshakes.begin(first);
  handshakes.begin(second);
  handshakes.succeeded(new TLSSocket(first, { isServer: true }));
  expect(handshakes.size).toBe(1);
  first.destroy();
  await once(first, "close");
  expect(openSockets() - before).toBe(1);
  const closed = once(second, "close");
  await clock.advance(2_000);
  await closed;
  expect(failed).toEqual(["timedOut"]);
  expect(handshakes.size).toBe(0);
  expect(openSockets()).toBe(before);
});
