import type { Duplex } from "node:stream";
import { type TalkSeen, talkerOf, unheard } from "../client-talk.ts";
import { closed, readAtPace, watchEnding } from "../link.ts";
import type { CallPlan, StreamTalksSession, TalkPlan } from "../plan.ts";
import { grpcPort } from "../sandboxes.ts";
import { CallStream } from "../talk/call-stream.ts";
import { messageHeadBytes } from "../talk/message-framing.ts";
import { dialHttp2, dialPlain, dialTls, type World } from "../world.ts";
import { FrameConnection } from "./frame-connection.ts";
import { type Fields, fieldOf } from "./hpack.ts";

/** What a client saw of one conversation on a stream. */
export interface StreamTalkSeen extends TalkSeen {
  asked: boolean;
  isOver: boolean;
  /** How a call of gRPC ended; undefined: it was cut. */
  grpcStatus: number | undefined;
  /** The ids in the head and at the end. */
  answerOf: string | undefined;
  endOf: string | undefined;
  /** The reason of an error of the activator. */
  reason: string;
  resetCode: number | undefined;
  /** How long it took, in milliseconds. */
  tookMs: number;
}

export interface StreamTalksSeen {
  readonly talks: readonly StreamTalkSeen[];
  readonly broken: string | undefined;
}

/** Conversations over one connection of HTTP/2: WebSockets (RFC 8441), or calls of gRPC or gRPC-Web. */
export async function converseByStreams(session: StreamTalksSession, world: World): Promise<StreamTalksSeen> {
  for (const talk of session.talks) world.ledger.open(talk);
  if (session.byHttp1) return converseByHttp1(session, world);
  const connection = dialHttp2(session.tls, world);
  const { socket } = connection;
  const talks = session.talks.map(unseen);
  using _watched = world.progress.watch(socket, (state) => {
    for (const each of talks) if (each.asked && !each.isOver) each.stuck ??= state;
    connection.cut();
  });
  socket.once("end", () => socket.end());
  const frames = new FrameConnection(socket, "client", session.link);
  const rest = session.talks.map((talk, index) => ({ talk, seen: talks[index] ?? unseen(talk) }));
  const next = async (): Promise<void> => {
    for (let each = rest.shift(); each && socket.writable; each = rest.shift()) {
      const { talk, seen } = each;
      await have(talk, () => frames.open(talk.call ? callHeadOf(talk, talk.call) : headOf(talk), false), seen);
    }
  };
  await Promise.all(Array.from({ length: session.depth }, next));
  if (socket.writable) frames.end();
  await closed(socket);
  for (const each of talks) each.late = connection.isLate();
  return { talks, broken: frames.broken };
}

/** Calls over HTTP/1.1, each on its own connection. */
async function converseByHttp1(session: StreamTalksSession, world: World): Promise<StreamTalksSeen> {
  const talks = session.talks.map(unseen);
  const rest = [...session.talks.entries()];
  const broken: (string | undefined)[] = [];
  const next = async (): Promise<void> => {
    for (let each = rest.shift(); each; each = rest.shift()) {
      const [index, talk] = each;
      const seen = talks[index] ?? unseen(talk);
      const connection = session.tls ? dialTls(world) : dialPlain(world.http);
      using _watched = world.progress.watch(connection.socket, (state) => {
        seen.stuck = state;
        connection.cut();
      });
      const stream = new CallStream(connection, lengthOf(talk));
      await have(
        talk,
        () => {
          stream.sendHead(`/t/${talk.id}`, talk.call ? callFieldsOf(talk, talk.call) : []);
          return stream;
        },
        seen,
      );
      await closed(connection.socket);
      seen.late = connection.isLate();
      broken.push(stream.broken);
    }
  };
  await Promise.all(Array.from({ length: session.depth }, next));
  return { talks, broken: broken.find((each) => each !== undefined) };
}

/** The length of the request, if it is announced. Padding within base64 depends on what is written at a time. */
function lengthOf({ client, frames, call }: TalkPlan): number | undefined {
  if (!frames || !call?.web?.sendsLength || call.web.isText) return undefined;
  return client.bytes + Math.ceil(client.bytes / frames.client.bytes) * messageHeadBytes;
}

/** What carries a conversation. */
interface TalkStream extends Duplex {
  onHead: (fields: Fields, isLast: boolean) => void;
  onTrailers: (fields: Fields) => void;
  /** The code of the reset of the other side. */
  readonly resetCode: number | undefined;
  cut(): void;
}

/** Resolves once the stream is closed. */
async function have(talk: TalkPlan, open: () => TalkStream, seen: StreamTalkSeen): Promise<void> {
  seen.asked = true;
  const startMs = performance.now();
  const stream = open();
  const ends = watchEnding(stream);
  const talker = talkerOf(talk, { socket: stream, cut: () => stream.cut() }, seen);
  stream.onHead = (fields) => {
    const status = Number(fieldOf(fields, ":status"));
    // To a client of HTTP/2 it is the same as a 101.
    seen.status = status === 200 ? 101 : status;
    noteEnd(fields, seen);
    if (talk.call) return;
    if (status === 200) talker.start();
    else stream.end();
  };
  stream.onTrailers = (fields) => noteEnd(fields, seen);
  stream.on("data", (bytes: Buffer) => talker.feed(bytes));
  if (talk.ahead > 0) stream.write(seen.heard.encode(0, talk.ahead));
  if (talk.call) talker.start();
  readAtPace(stream, talk.client.reading);
  await closed(stream);
  seen.isOver = true;
  seen.ending = ends.ending === "ended" ? "ended" : "broken";
  seen.resetCode = stream.resetCode;
  seen.tookMs = performance.now() - startMs;
  if (talk.call?.web && seen.heard.closing) noteEnd(trailersIn(seen.heard.closing), seen);
}

/** The trailers in the last message of gRPC-Web: lines, as in HTTP/1.1. */
function trailersIn(payload: Buffer): Fields {
  const lines = payload.toString("latin1").split("\r\n").filter(Boolean);
  return lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
}

function noteEnd(fields: Fields, seen: StreamTalkSeen): void {
  const status = fieldOf(fields, "grpc-status");
  if (status !== undefined) seen.grpcStatus = Number(status);
  seen.answerOf ??= fieldOf(fields, "x-torture");
  seen.endOf ??= fieldOf(fields, "x-torture-end");
  seen.reason ||= fieldOf(fields, "x-rouse-reason") ?? fieldOf(fields, "grpc-message") ?? "";
}

export const unseen = (talk: TalkPlan): StreamTalkSeen => ({
  ...unheard(talk),
  ...{ asked: false, isOver: false, grpcStatus: undefined, answerOf: undefined, endOf: undefined, reason: "" },
  ...{ resetCode: undefined, tookMs: 0 },
});

const commonOf = ({ id }: TalkPlan): Fields => [
  [":scheme", "http"],
  [":authority", "torture.test"],
  [":path", `/t/${id}`],
];

const headOf = (talk: TalkPlan): Fields => [
  [":method", "CONNECT"],
  [":protocol", "websocket"],
  ...commonOf(talk),
  ["x-sandbox-id", talk.sandbox],
  ["sec-websocket-version", "13"],
];

const callHeadOf = (talk: TalkPlan, call: CallPlan): Fields => [
  [":method", "POST"],
  ...commonOf(talk),
  ...callFieldsOf(talk, call),
];

const callFieldsOf = ({ sandbox }: TalkPlan, { web, deadlineMs }: CallPlan): Fields => [
  ["x-sandbox-id", sandbox],
  ["x-sandbox-port", String(grpcPort)],
  ["content-type", web ? `application/grpc-web${web.isText ? "-text" : ""}` : "application/grpc"],
  ...(web ? [] : ([["te", "trailers"]] as const)),
  ...(deadlineMs === undefined ? [] : ([["grpc-timeout", `${deadlineMs}m`]] as const)),
];
