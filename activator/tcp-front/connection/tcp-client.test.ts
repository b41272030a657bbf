import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { talkTo } from "../../../test/support/labs/tcp-front-lab.ts";
import { adoptAccepted, adoptionOf, type WireSocket } from "../../socket/wire-socket.ts";
import { earlyPlace, TcpClient, type TcpClientOptions } from "./tcp-client.ts";

/** A client that waits, and its other end. */
async function given(options: TcpClientOptions = {}) {
  const clock = new FakeClock();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const accepted = once(server, "connection");
  const talk = await talkTo((server.address() as AddressInfo).port);
  const [raw]: Socket[] = await accepted;
  if (!raw) throw new Error("nothing was accepted");
  let client: TcpClient | undefined;
  const clientOf = (socket: WireSocket) => {
    client = new TcpClient(socket, clock, options);
    return client;
  };
  adoptAccepted(raw, clientOf, adoptionOf(raw), earlyPlace);
  if (client === undefined) throw new Error("the socket was not adopted");
  return {
    ...{ client, talk, clock },
    [Symbol.dispose]() {
      talk.socket.destroy();
      server.close();
    },
  };
}

describe("a client that waits", () => {
  it("is read up to a few KiB", async () => {
    using world = await given();
    const { socket } = world.client;
    world.talk.socket.write(Buffer.alloc(32_000_000)); // more than the kernel keeps for a socket, at either end
    await eventually(() => socket.bytesRead > 0);
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(socket.bytesRead).toBeLessThan(8_192);
    expect(world.talk.socket.writableLength).toBeGreaterThan(0);
  });

  it("has left if it ends without a byte, unless it is served at once", async () => {
    using world = await given();
    let notifications = 0;
    world.client.onLeave(() => (notifications += 1));
    world.talk.socket.end();
    await eventually(() => world.client.socket.readableEnded);
    await world.clock.advance(99);
    expect(world.client.left).toBe(false);
    await world.clock.advance(1);
    await eventually(() => world.client.left);
    expect(notifications).toBe(1);
    expect(await world.talk.over()).toBe("reset"); // an end would look like an empty answer
  });

  it("has left if it resets, also after bytes", async () => {
    using world = await given();
    world.talk.send("hello");
    await eventually(() => world.client.socket.bytesRead === 5);
    world.talk.socket.resetAndDestroy();
    await eventually(() => world.client.left);
  });

  it("may end its side after its bytes, and still listen", async () => {
    using world = await given();
    world.talk.send("job");
    world.talk.socket.end();
    await eventually(() => world.client.socket.readableEnded);
    expect(world.client.left).toBe(false);
    const early = world.client.handOver(world.client);
    expect([early.bytes.toString(), early.ended]).toEqual(["job", true]);
  });

  it("has left by an end if its conversation needs both sides, also after bytes", async () => {
    using world = await given({ early: Buffer.from("hello"), leavesByEnd: true });
    world.talk.send("more");
    await eventually(() => world.client.socket.bytesRead === 4);
    expect(world.client.left).toBe(false);
    let [hasLeft, notifications] = [false, 0];
    world.client.onLeave(() => (notifications += 1));
    // At its end, and not only at the close that follows: meanwhile it could still be connected to its sandbox.
    world.client.socket.once("end", () => (hasLeft = world.client.left));
    world.talk.socket.end();
    expect(await world.talk.over()).toBe("reset");
    await eventually(() => world.client.socket.closed);
    expect([hasLeft, notifications]).toEqual([true, 1]);
  });

  it("is read up to a few KiB more than what it sent before", async () => {
    const early = Buffer.alloc(16_384);
    using world = await given({ early });
    world.talk.send("more");
    await eventually(() => world.client.socket.bytesRead === 4);
    expect(world.client.handOver(world.client).bytes.length).toBe(early.length + 4);
  });
});
