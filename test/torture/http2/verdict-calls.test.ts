import { describe, expect, it } from "vitest";
import { bytesOf, downStream, upStream } from "../bytes.ts";
import { Account } from "../ledger.ts";
import { atOnce } from "../link.ts";
import type { CallPlan, StreamTalksSession, TalkPlan } from "../plan.ts";
import { messageFraming } from "../talk/message-framing.ts";
import { type StreamTalkSeen, unseen } from "./client-talks.ts";
import { judgeCall } from "./verdict-calls.ts";

const side = { bytes: 1_000, sending: { pieceBytes: 100, everyMs: 0 }, reading: atOnce, ends: "sent" } as const;
const frames = { bytes: 1_000, closes: false };
const call: CallPlan = {
  ...{ answers: "after", delayMs: 0, status: 0, isHeadAlone: false, resetCode: 8, connection: "keep" },
  ...{ deadlineMs: 500, web: { isText: false, sendsLength: false } },
};
const talk: TalkPlan = {
  ...{ kind: "talk", id: 1, sandbox: "steady-0", by: "stream", ahead: 0, early: 0, client: side, pod: side, call },
  frames: { client: frames, pod: frames },
};
const session: StreamTalksSession = {
  ...{ kind: "webCalls", byHttp1: true, tls: false, depth: 1, talks: [talk] },
  link: { windowBytes: 65_535, sharesWindow: false, frameBytes: 16_384, paddingBytes: 0 },
};
const body = Buffer.concat([messageFraming.head(0, 1_000, true), bytesOf(downStream(1), 0, 1_000)]);
const trailers = Buffer.from("\x80\0\0\0\x0fgrpc-status:0\r\n", "latin1");

/** What is complained of if the client got this body of a call that the sandbox has answered. */
function judged(came: Buffer, changed: Partial<StreamTalkSeen> = {}) {
  const account = Object.assign(new Account(1), { times: 1, upEnded: true });
  account.up.take(bytesOf(upStream(1), 0, 1_000));
  const seen = unseen(talk);
  seen.down.take(seen.heard.decode(came));
  const told = seen.heard.closing ? { grpcStatus: 0, endOf: "1" } : {};
  Object.assign(seen, { asked: true, isOver: true, status: 101, ending: "ended", tookMs: 100, ...told, ...changed });
  const found = judgeCall({ talk, call, session }, seen, account, { activatorEnded: false });
  return found.map(({ what }) => what.replace("gRPC-Web by HTTP/1.1: ", ""));
}

describe("a verdict about a call of gRPC-Web", () => {
  it("accepts messages with their trailers behind them", () => {
    expect(judged(Buffer.concat([body, trailers]))).toEqual([]);
  });

  it("reports an end without trailers, and one within the trailers", () => {
    const wrong = "an end without a last message";
    expect(judged(body)).toContain(wrong);
    expect(judged(Buffer.concat([body, trailers.subarray(0, -1)]))).toContain(wrong);
  });

  it("accepts a cut within a message only once the time of the call is over", () => {
    const cut = body.subarray(0, 500);
    expect(judged(cut, { ending: "broken", tookMs: 499 })).toEqual(["a cut"]);
    expect(judged(cut, { ending: "broken", tookMs: 501 })).toEqual([]);
  });
});
