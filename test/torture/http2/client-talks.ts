import { type TalkSeen, talkerOf, unheard } from "../client-talk.ts";
import { closed, readAtPace, watchEnding } from "../link.ts";
import type { StreamTalksSession, TalkPlan } from "../plan.ts";
import { grpcPort } from "../sandboxes.ts";
import { dialHttp2, type World } from "../world.ts";
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

/** Conversations over one connection of HTTP/2: WebSockets (RFC 8441), or calls of gRPC. */
export async function converseByStreams(session: StreamTalksSession, world: World): Promise<StreamTalksSeen> {
  for (const talk of session.talks) world.ledger.open(talk);
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
      await have(each.talk, frames, each.seen);
    }
  };
  await Promise.all(Array.from({ length: session.depth }, next));
  if (socket.writable) frames.end();
  await closed(socket);
  for (const each of talks) each.late = connection.isLate();
  return { talks, broken: frames.broken };
}

/** Resolves once the stream is closed. */
async function have(talk: TalkPlan, frames: FrameConnection, seen: StreamTalkSeen): Promise<void> {
  seen.asked = true;
  const startMs = performance.now();
  const stream = frames.open(talk.call ? callHeadOf(talk, talk.call.deadlineMs) : headOf(talk), false);
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

const commonOf = ({ id, sandbox }: TalkPlan): Fields => [
  [":scheme", "http"],
  [":authority", "torture.test"],
  [":path", `/t/${id}`],
  ["x-sandbox-id", sandbox],
];

const headOf = (talk: TalkPlan): Fields => [
  [":method", "CONNECT"],
  [":protocol", "websocket"],
  ...commonOf(talk),
  ["sec-websocket-version", "13"],
];

const callHeadOf = (talk: TalkPlan, deadlineMs: number | undefined): Fields => [
  [":method", "POST"],
  ...commonOf(talk),
  ["x-sandbox-port", String(grpcPort)],
  ["content-type", "application/grpc"],
  ["te", "trailers"],
  ...(deadlineMs === undefined ? [] : ([["grpc-timeout", `${deadlineMs}m`]] as const)),
];
