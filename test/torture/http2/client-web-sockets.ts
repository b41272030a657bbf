import { type TalkSeen, talkerOf, unheard } from "../client-talk.ts";
import { closed, readAtPace, watchEnding } from "../link.ts";
import type { TalkPlan, WebSocketSession } from "../plan.ts";
import { dialHttp2, type World } from "../world.ts";
import { FrameConnection } from "./frame-connection.ts";
import { type Fields, fieldOf } from "./hpack.ts";

/** WebSockets over one connection of HTTP/2, all at once (RFC 8441). */
export async function converseByStreams(session: WebSocketSession, world: World): Promise<readonly TalkSeen[]> {
  for (const talk of session.talks) world.ledger.open(talk);
  const connection = dialHttp2(session.tls, world);
  const { socket } = connection;
  const seen = session.talks.map(unheard);
  using _watched = world.progress.watch(socket, () => {
    for (const each of seen) each.stuck ||= each.ending === "open";
    connection.cut();
  });
  socket.once("end", () => socket.end());
  const frames = new FrameConnection(socket, "client", session.link);
  await Promise.all(session.talks.map((talk, index) => have(talk, frames, seen[index] ?? unheard(talk))));
  if (socket.writable) frames.end();
  await closed(socket);
  for (const each of seen) each.late = connection.isLate();
  return seen;
}

/** Resolves once the stream is closed. */
async function have(talk: TalkPlan, frames: FrameConnection, seen: TalkSeen): Promise<void> {
  const stream = frames.open(headOf(talk), false);
  const ends = watchEnding(stream);
  const talker = talkerOf(talk, { socket: stream, cut: () => stream.cut() }, seen);
  stream.onHead = (fields) => {
    const status = Number(fieldOf(fields, ":status"));
    // To a client of HTTP/2 it is the same as a 101.
    seen.status = status === 200 ? 101 : status;
    if (status === 200) talker.start();
    else stream.end();
  };
  stream.on("data", (bytes: Buffer) => talker.feed(bytes));
  if (talk.ahead > 0) stream.write(seen.heard.encode(0, talk.ahead));
  readAtPace(stream, talk.client.reading);
  await closed(stream);
  seen.ending = ends.ending;
}

const headOf = ({ id, sandbox }: TalkPlan): Fields => [
  [":method", "CONNECT"],
  [":protocol", "websocket"],
  [":scheme", "http"],
  [":authority", "torture.test"],
  [":path", `/t/${id}`],
  ["x-sandbox-id", sandbox],
  ["sec-websocket-version", "13"],
];
