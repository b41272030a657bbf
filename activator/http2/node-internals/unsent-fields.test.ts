import { constants, type Http2Stream } from "node:http2";
import { expect, it } from "vitest";
import { UnsentFields } from "./unsent-fields.ts";

const { NGHTTP2_SESSION_SERVER: server, NGHTTP2_SESSION_CLIENT: client } = constants;

/** A stream of a connection whose other side is slow. */
function slowStream(type: number) {
  const handle = { writeQueueSize: 1_000, bytesWritten: 1_000 };
  const session = { type, destroyed: false, socket: { _handle: handle }, state: { outboundQueueSize: 1 } };
  const fields = new UnsentFields({ session } as unknown as Http2Stream);
  fields.add(300);
  return { handle, session, fields };
}

it.each([server, client])("fields wait until nothing is left to send, in a session of type %i", (type) => {
  const { handle, session, fields } = slowStream(type);
  expect([fields.bytes, fields.bytes]).toEqual([300, 300]);
  handle.writeQueueSize = 0;
  expect(fields.bytes).toBe(300);
  session.state.outboundQueueSize = 0;
  expect(fields.bytes).toBe(0);
  fields.add(5);
  handle.writeQueueSize = 1;
  expect(fields.bytes).toBe(5);
  session.destroyed = true;
  expect(fields.bytes).toBe(0);
});

it("on a busy connection, fields of a response are sent once the write behind theirs has begun", () => {
  const [response, request] = [slowStream(server), slowStream(client)];
  for (const { handle, fields } of [response, request]) {
    for (const bytesWritten of [1_000, 1_000, 2_000, 2_000]) {
      handle.bytesWritten = bytesWritten;
      expect(fields.bytes).toBe(300);
    }
    handle.bytesWritten = 3_000;
  }
  expect(response.fields.bytes).toBe(0);
  expect(request.fields.bytes).toBe(300); // the sandbox may take no more calls
  request.fields.sent();
  expect(request.fields.bytes).toBe(0);
});

it("with another Node nothing is counted", () => {
  const { session, fields } = slowStream(server);
  Object.assign(session, { socket: {} });
  expect(fields.bytes).toBe(0);
});
