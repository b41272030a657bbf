import { once } from "node:events";
import { connect, createServer, performServerHandshake } from "node:http2";
import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { sessionState } from "./native-handles.ts";
import { StreamTables } from "./stream-tables.ts";

const silent = () => new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() });

it("a session gets new tables again and again, with its open streams in them", async () => {
  const server = createServer((request, response) => void request.resume().on("end", () => response.end()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const session = connect(`http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`);
  try {
    const tables = new StreamTables(session);
    const seen = new Set([sessionState(session)?.streams]);
    const open = session.request({ ":method": "POST" });
    tables.streamAdded();
    for (let index = 0; index < 200; index += 1) {
      const stream = session.request({ ":method": "POST" });
      tables.streamAdded();
      stream.end();
      stream.resume();
      await once(stream, "close");
      const streams = sessionState(session)?.streams;
      seen.add(streams);
      expect([...(streams?.values() ?? [])]).toEqual([open]);
    }
    expect(seen.size).toBe(4);
    open.end();
    open.resume();
    await once(open, "close");
    expect(sessionState(session)?.streams.size).toBe(0);
  } finally {
    session.destroy();
    server.close();
  }
});

it("a session of another Node keeps its tables, and no stream fails", () => {
  const session = performServerHandshake(silent());
  const state = sessionState(session);
  expect(state?.pendingStreams.size).toBe(0);
  Object.assign(state ?? {}, { streams: new WeakMap() });
  expect(sessionState(session)).toBeUndefined();
  const tables = new StreamTables(session);
  for (let index = 0; index < 200; index += 1) tables.streamAdded();
  Object.assign(state ?? {}, { streams: new Map() });
  session.destroy();
});
