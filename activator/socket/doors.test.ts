import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { onUnexpectedError } from "../../lib/guard/guard.ts";
import { resetSocket } from "./reset-socket.ts";
import { type Adoption, adoptAccepted, commonBuffer, plainAcceptedSocket, type SocketReader } from "./wire-socket.ts";

const broken = new Error("a reader is broken");
const fail = () => {
  throw broken;
};

/** Where a reader may throw, and what makes Node call it there. */
const places: readonly { readonly where: keyof SocketReader; readonly provoke: (client: Socket) => void }[] = [
  { where: "take", provoke: (client) => void client.write("hello") },
  { where: "nextBuffer", provoke: (client) => void client.write("hello") },
  { where: "ended", provoke: (client) => void client.end() },
  { where: "closed", provoke: (client) => void client.resetAndDestroy() },
];

async function connectedTo(reader: Partial<SocketReader>, by: Adoption) {
  const whole: SocketReader = {
    ...{ wantsMore: true, nextBuffer: () => commonBuffer, take() {}, ended() {}, drained() {} },
    ...{ writeFailed: () => false, closed() {} },
    ...reader,
  };
  const server = createServer(plainAcceptedSocket, (accepted) => adoptAccepted(accepted, () => whole, by));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
  await once(client, "connect");
  return {
    client,
    [Symbol.dispose]() {
      client.destroy();
      server.close();
    },
  };
}

describe.each<Adoption>(["handle", "events"])("a reader that is fed by %s", (by) => {
  it.each(places)("and throws in $where ends its own connection, and is reported", async ({ where, provoke }) => {
    const reported = Promise.withResolvers<unknown[]>();
    using _listening = onUnexpectedError((...what) => reported.resolve(what));
    using connected = await connectedTo({ [where]: fail }, by);
    const closed = new Promise((resolve) => connected.client.once("close", resolve));
    provoke(connected.client);
    expect(await reported.promise).toEqual(["socket", broken]);
    await closed;
  });
});

it.each<Adoption>(["handle", "events"])("no reader for an adopted connection, fed by %s, ends it", async (by) => {
  const accepted = Promise.withResolvers<unknown>();
  const server = createServer(plainAcceptedSocket, (socket) => {
    try {
      adoptAccepted(socket, fail, by);
    } catch (error) {
      accepted.resolve(error);
      resetSocket(socket);
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
  const closed = new Promise((resolve) => client.once("close", resolve));
  expect(await accepted.promise).toBe(broken);
  await closed;
  server.close();
});
