import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { frame, getFields, headersOf, openFrameClient, settingsOf } from "../../../test/support/http2-frames.ts";
import { openBackend, openProxyPath, openStrictBackend } from "../../../test/support/proxy-path.ts";
import { StreamRoom } from "./stream-room.ts";
import { UnreadAnswers } from "./unread-answers.ts";

describe("the room for requests in progress", () => {
  it("has shares: a connection gets a place only while it has fewer than are left", () => {
    const room = new StreamRoom({ max: 100 });
    const fill = (connection: object) => {
      const places = [];
      while (room.hasRoom(connection)) places.push(room.take(connection));
      return places;
    };
    const [one, other] = [{}, {}];
    const places = fill(one);
    expect([places.length, fill(other).length, fill({}).length]).toEqual([50, 25, 13]);
    for (const place of places) {
      place.leave();
      place.leave();
    }
    expect([fill(other).length, fill(one).length]).toEqual([19, 22]);
  });

  it("counts the sockets that requests may still open, each until it has its connection", () => {
    const asked: number[] = [];
    const room = new StreamRoom({ max: 100, hasSocket: (besides) => asked.push(besides) > 0 });
    const connection = {};
    const [one, two, three] = [room.take(connection), room.take(connection), room.take(connection)];
    room.hasRoom(connection);
    one.connected();
    one.leave();
    room.hasRoom(connection);
    two.leave();
    two.connected();
    three.connected();
    room.hasRoom(connection);
    expect(asked).toEqual([3, 2, 0]);
  });

  it("is not used twice by a request that has its connection to the sandbox", async () => {
    await using backend = await openBackend(() => {});
    const asked: number[] = [];
    await using proxyPath = await openProxyPath(backend.port, { hasRoom: (besides) => asked.push(besides) > 0 });
    {
      using client = await openFrameClient(proxyPath.port);
      for (const stream of [1, 3, 5]) {
        client.send(headersOf(stream, getFields()));
        await eventually(() => backend.open === (stream + 1) / 2 && proxyPath.pool.size === 0);
      }
      await eventually(() => proxyPath.upstream !== undefined && proxyPath.http2.active === 3);
      client.send(headersOf(7, getFields()));
      await eventually(() => proxyPath.http2.active === 4);
      expect(Math.max(...asked)).toBeLessThanOrEqual(1);
    }
    await proxyPath.empty();
  });

  it("is left for others by a tenant whose responses are never read, on however many connections", async () => {
    await using backend = await openStrictBackend("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    await using proxyPath = await openProxyPath(backend.port, { maxConnections: 60 });
    {
      await using opened = new AsyncDisposableStack();
      for (let at = 0; at < 5; at += 1) {
        const client = opened.use(await openFrameClient(proxyPath.port, [settingsOf([4, 0])]));
        client.send(...Array.from({ length: 40 }, (_, stream) => headersOf(2 * stream + 1, getFields())));
        await eventually(
          () => client.frames.filter(({ type }) => type === frame.headers || type === frame.reset).length === 40,
        );
      }
      const other = opened.use(await openFrameClient(proxyPath.port));
      other.send(headersOf(1, getFields()));
      await other.until(({ type }) => type === frame.data);
    }
    await proxyPath.empty();
  });
});

describe("the unread answers of the activator itself", () => {
  it("have a limit, beyond which a connection that has most loses its oldest", () => {
    const answers = new UnreadAnswers(10);
    const cut: string[] = [];
    const add = (connection: object, name: string) => {
      const remove = answers.add(connection, {
        cut() {
          cut.push(name);
          remove();
        },
      });
      return remove;
    };
    const [many, few] = [{}, {}];
    for (let at = 0; at < 8; at += 1) add(many, `many ${at}`);
    const read = add(few, "few 0");
    add(few, "few 1");
    expect(cut).toEqual([]);
    add({}, "new");
    expect(cut).toEqual(["many 0"]);
    read();
    read();
    add(few, "few 2");
    expect(cut).toEqual(["many 0"]);
    add(few, "few 3");
    expect(cut).toEqual(["many 0", "many 1"]);
    expect([answers.of(many), answers.of(few)]).toEqual([6, 3]);
  });
});
