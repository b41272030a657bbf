import { framesOf } from "../generate-exchange.ts";
import { atOnce } from "../link.ts";
import type { CallPlan, Draw, Kind, LastWord, SpeakerPlan, StreamTalksSession, TalkPlan } from "../plan.ts";
import { rude, sleepers, steady } from "../sandboxes.ts";
import { linkOf } from "./generate.ts";

/** Calls of gRPC over one connection. */
export function callsSession(draw: Draw, nextId: () => number, chosen: ReadonlySet<Kind>): StreamTalksSession {
  return sessionOf(draw, nextId, { chosen, shapes });
}

/** Calls of gRPC-Web. Its clients have sent all before they expect an answer. */
export function webCallsSession(draw: Draw, nextId: () => number, chosen: ReadonlySet<Kind>): StreamTalksSession {
  const session = sessionOf(draw, nextId, { chosen, shapes: shapes.slice(0, 3) });
  const talks = session.talks.map((talk) => {
    const web = { isText: draw.chance(50), sendsLength: draw.chance(60) };
    return { ...talk, ...(talk.call && { call: { ...talk.call, web } }) };
  });
  const byHttp1 = draw.chance(50);
  // Each call has its own connection then.
  return { ...session, kind: "webCalls", byHttp1, depth: byHttp1 ? Math.min(session.depth, 12) : session.depth, talks };
}

function sessionOf(draw: Draw, nextId: () => number, options: Omit<CallOptions, "isShort">): StreamTalksSession {
  const { chosen } = options;
  const isCrowd = draw.chance(15);
  const count = isCrowd ? draw.between(40, 150) : draw.between(1, 12);
  const talks = Array.from({ length: count }, () => callOf(draw, nextId(), { ...options, isShort: isCrowd }));
  const bytesMax = Math.max(...talks.map(({ pod }) => pod.bytes));
  return {
    kind: "calls",
    tls: chosen.has("tls") && draw.chance(45),
    depth: draw.chance(60) ? count : draw.between(1, 6),
    link: linkOf(draw, bytesMax),
    talks,
  };
}

/** Who ends when. */
type Shape = readonly [client: LastWord, pod: LastWord, answers: CallPlan["answers"]];

/** The shapes of calls. In the first three the client sends all without waiting, and the program ends behind that. */
const shapes: readonly Shape[] = [
  ["sent", "sent", "after"],
  ["sent", "sent", "after"],
  ["sent", "heardEnd", "atOnce"],
  ["heardAll", "heardEnd", "atOnce"],
  ["heardEnd", "heardAll", "atOnce"],
  ["heardEnd", "sent", "atOnce"],
  ["sent", "sent", "atOnce"],
];

/** What may become of the connection of a program, beside that it stays. */
const leavings = ["goaway", "goaway", "reset", "offence"] as const;

interface CallOptions {
  readonly isShort: boolean;
  readonly chosen: ReadonlySet<Kind>;
  readonly shapes: readonly Shape[];
}

function callOf(draw: Draw, id: number, { isShort, chosen, shapes }: CallOptions): TalkPlan {
  const sandbox = draw.random.oneOf(draw.chance(55) ? steady : rude);
  if (!isShort && chosen.has("sleep") && draw.chance(8)) return sleepyCall(draw, id);
  const isRude = rude.includes(sandbox);
  const large = () => (draw.chance(20) ? draw.magnitude(300_000, 3_000_000) : draw.size());
  const sizes = () => (isShort ? draw.magnitude(1, 2_000) : large());
  const [up, down] = [sizes(), sizes()];
  const [clientEnds, podEnds, answers] = draw.random.oneOf(shapes);
  const side = (bytes: number, heard: number, ends: LastWord): SpeakerPlan => ({
    ...{ bytes, ends, sending: draw.sending(bytes), reading: draw.pace(heard) },
  });
  const resets = (bytes: number) => ({ resetAt: draw.chance(20) ? 0 : draw.between(0, bytes) });
  const isHeadAlone = answers === "after" && draw.chance(8);
  const client = { ...side(up, down, clientEnds), ...(draw.chance(10) && resets(up + down)) };
  const pod = { ...side(isHeadAlone ? 0 : down, up, podEnds), ...(isRude && draw.chance(20) && resets(up + down)) };
  const call: CallPlan = {
    ...{ answers, isHeadAlone, delayMs: draw.chance(15) ? draw.between(1, 200) : 0 },
    status: draw.chance(70) ? 0 : draw.between(1, 16),
    resetCode: draw.random.oneOf([0, 2, 7, 8, 11]),
    connection: isRude && draw.chance(8) ? draw.random.oneOf(leavings) : "keep",
    ...(draw.chance(12) && { deadlineMs: draw.between(50, 3_000) }),
  };
  return { ...common(id, sandbox), client, pod, call, frames: framesOf(draw, { client, pod }) };
}

/** A call with one message each way, which wakes its sandbox. While the client's side is open, its sandbox may be suspended. */
function sleepyCall(draw: Draw, id: number): TalkPlan {
  const side = (): SpeakerPlan => {
    const bytes = draw.magnitude(1, 30_000);
    return { bytes, ends: "sent", sending: { pieceBytes: bytes, everyMs: 0 }, reading: atOnce };
  };
  const [client, pod] = [side(), side()];
  const call: CallPlan = {
    answers: "after",
    isHeadAlone: false,
    delayMs: 0,
    status: 0,
    resetCode: 8,
    connection: "keep",
  };
  return { ...common(id, draw.random.oneOf(sleepers)), client, pod, call, frames: framesOf(draw, { client, pod }) };
}

const common = (id: number, sandbox: string) =>
  ({ kind: "talk", id, sandbox, by: "stream", ahead: 0, early: 0 }) as const;
