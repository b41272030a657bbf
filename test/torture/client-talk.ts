import type { Duplex } from "node:stream";
import { ByteCheck, downStream } from "./bytes.ts";
import { closed, type Ending, readAtPace, watchEnding } from "./link.ts";
import { MessageReader } from "./message-reader.ts";
import type { TalkPlan, TalkSession } from "./plan.ts";
import { greetingOf } from "./sandbox-tcp.ts";
import { type Speech, speechOf } from "./talk/speech.ts";
import { Talker } from "./talk/talker.ts";
import { webSocketKey } from "./talk/web-socket-framing.ts";
import { type Connection, dialPlain, dialTls, type World } from "./world.ts";

/** What a client saw of one conversation. */
export interface TalkSeen {
  readonly down: ByteCheck;
  readonly heard: Speech;
  /** The status of the answer to an upgrade; 101 for a TCP connection. */
  status: number;
  ending: Ending;
  /** The client reset the connection itself. */
  cut: boolean;
  /** The client could not speak before the activator's limit. */
  late: boolean;
  /** The state of the activator when nothing had moved for too long. */
  stuck: string | undefined;
}

/** One conversation on its own connection; undefined if the sandbox cannot be reached at the moment. */
export async function converse(session: TalkSession, world: World): Promise<TalkSeen | undefined> {
  const { talk, tls } = session;
  const address = talk.by === "tcp" ? world.tcp(talk.sandbox) : world.http;
  if (!address) return undefined;
  world.ledger.open(talk);
  const connection = tls ? dialTls(world) : dialPlain(address);
  const { socket } = connection;
  const seen = unheard(talk);
  const ends = watchEnding(socket);
  using _watched = world.progress.watch(socket, (state) => {
    seen.stuck = state;
    connection.cut();
  });
  speak(session, connection, seen);
  await closed(socket);
  seen.ending = ends.ending;
  seen.late = connection.isLate();
  return seen;
}

export const unheard = (talk: TalkPlan): TalkSeen => ({
  ...{ down: new ByteCheck(downStream(talk.id)), heard: speechOf(talk, "client") },
  ...{ ending: "open", cut: false, late: false, stuck: undefined, status: talk.by === "tcp" ? 101 : 0 },
});

/** The client's side of a conversation. */
export function talkerOf({ client, pod, ahead }: TalkPlan, { socket, cut }: TalkLine, seen: TalkSeen): Talker {
  const options = { plan: client, speech: seen.heard, sent: ahead, hears: seen.down, toHear: pod.bytes, cut };
  const talker = new Talker(socket, options);
  talker.onReset = () => {
    seen.cut = true;
  };
  socket.on("end", () => talker.ended());
  return talker;
}

/** What carries a conversation. */
export interface TalkLine {
  readonly socket: Duplex;
  readonly cut: () => void;
}

function speak({ talk }: TalkSession, { socket, cut }: Connection, seen: TalkSeen): void {
  const { id, ahead, client, by, frames } = talk;
  const talker = talkerOf(talk, { socket, cut }, seen);
  if (by === "tcp") {
    socket.write(greetingOf(id));
    socket.on("data", (bytes: Buffer) => talker.feed(bytes));
    talker.start();
  } else {
    const reader = readerOfSwitch(seen, talker, () => socket.end());
    socket.on("data", (bytes: Buffer) => reader.push(bytes));
    const lines = [`GET /t/${id} HTTP/1.1`, "Host: torture.test", `X-Sandbox-ID: ${talk.sandbox}`];
    const offer = ["Connection: Upgrade", ...(frames ? webSocketOffer : ["Upgrade: torture"])];
    const head = `${[...lines, ...offer].join("\r\n")}\r\n\r\n`;
    socket.write(Buffer.concat([Buffer.from(head), seen.heard.encode(0, ahead)]));
  }
  readAtPace(socket, client.reading);
}

const webSocketOffer = ["Upgrade: websocket", `Sec-WebSocket-Key: ${webSocketKey}`, "Sec-WebSocket-Version: 13"];

/** Reads the answer to an upgrade offer, and passes later bytes to the talker. */
function readerOfSwitch(seen: TalkSeen, talker: Talker, refused: () => void): MessageReader {
  return new MessageReader("response", {
    head({ start }) {
      seen.status = Number(start.slice(9, 12));
      if (seen.status !== 101) return seen.status < 200 ? "head" : "body";
      talker.start();
      return "raw";
    },
    body() {},
    end: refused,
    raw: (bytes) => talker.feed(bytes),
  });
}
