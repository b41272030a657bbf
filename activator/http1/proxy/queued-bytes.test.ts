import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath, type ProxyPath } from "../../../test/support/proxy-path.ts";
import { dialledTls, tls } from "../../../test/support/tls-path.ts";
import { writeAheadBytes } from "../../socket/wire-socket.ts";

const much = Buffer.alloc(16_777_216, "x");
const upload = `POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: ${much.length}\r\n\r\n`;
const get = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";
const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${much.length}\r\n\r\n`;
const ask = "GET / HTTP/1.1\r\nHost: nova\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n";
const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n";

interface Way {
  readonly what: string;
  readonly request: string;
  readonly response: string;
  readonly to: keyof NonNullable<ProxyPath["sockets"]>;
  /** The client comes by TLS. */
  readonly secured?: boolean;
}

/** What one side sends while the other reads nothing after its first bytes. */
const ways: readonly Way[] = [
  { what: "a request", request: upload, response: "", to: "sandbox" },
  { what: "a response", request: get, response: answer, to: "client" },
  { what: "a tunnel's client", request: ask, response: switched, to: "sandbox" },
  { what: "a tunnel's sandbox", request: ask, response: switched, to: "client" },
  { what: "a response over TLS", request: get, response: answer, to: "client", secured: true },
  { what: "a tunnel's sandbox over TLS", request: ask, response: switched, to: "client", secured: true },
];

/** Reads one piece, and then nothing. */
const firstOf = (socket: Socket) =>
  new Promise<void>((resolve) => {
    socket.once("data", () => {
      socket.pause();
      resolve();
    });
  });

describe("without a read buffer of its own", () => {
  it.each(ways)(
    "$what has at most two small reads in the queue of a $to that pauses, and all arrives later",
    async (way) => {
      const { request, response, to, secured } = way;
      const sandboxes: Socket[] = [];
      await using backend = await openBackend((socket) => {
        sandboxes.push(socket);
        void firstOf(socket).then(() => socket.write(response));
      });
      await using proxyPath = await openProxyPath(backend.port, { readBuffers: 0, ...(secured && { tls }) });
      const client = await (secured ? dialledTls : dialled)(proxyPath.port);
      client.write(request);
      if (response !== "") await firstOf(client);
      await eventually(() => sandboxes.length === 1 && proxyPath.sockets !== undefined);
      (to === "sandbox" ? client : sandboxes[0])?.write(much);
      const queued = () => proxyPath.sockets?.[to].writableLength ?? 0;
      await eventually(() => queued() >= writeAheadBytes);
      expect(queued()).toBeLessThanOrEqual(2 * writeAheadBytes);
      const reader = to === "sandbox" ? sandboxes[0] : client;
      reader?.resume();
      await eventually(() => (reader?.bytesRead ?? 0) > much.length);
      client.destroy();
    },
  );
});
