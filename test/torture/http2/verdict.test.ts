import { describe, expect, it } from "vitest";
import { ByteCheck, bytesOf, downStream, upStream } from "../bytes.ts";
import { Account } from "../ledger.ts";
import { atOnce } from "../link.ts";
import type { AnswerPlan, ExchangePlan, Http2Session } from "../plan.ts";
import type { StreamSeen } from "./client.ts";
import { judgeHttp2 } from "./verdict.ts";

const sending = { pieceBytes: 1_000, everyMs: 0 };
const answer: AnswerPlan = {
  ...{ when: "after", readsOn: true, delayMs: 0, interims: 0, bytes: 1_000, framing: "close", sending },
  ...{ ending: "keep", endAfterMs: 0 },
};
const upload = { bytes: 500, framing: "chunked", sending } as const;
const exchange: ExchangePlan = {
  ...{ kind: "exchange", id: 1, sandbox: "steady-0", method: "POST", minorVersion: 1, keepsAlive: true },
  ...{ upload, reading: atOnce, answer },
};
const session: Http2Session = {
  ...{ kind: "http2", tls: false, depth: 1, reading: atOnce, endsBy: "offence", offence: "a PING on a stream" },
  link: { windowBytes: 65_535, sharesWindow: false, frameBytes: 16_384, paddingBytes: 0 },
  streams: [{ exchange, reading: atOnce, resetCode: 8, endsWithData: false }],
};

/** What is complained of if the client received so many bytes, and the sandbox too. */
function judged([down, up]: readonly [number, number], changed: Partial<StreamSeen> = {}, isReset = false) {
  const account = Object.assign(new Account(1), { times: 1, upEnded: up === upload.bytes, reset: isReset });
  account.up.take(bytesOf(upStream(1), 0, up));
  const check = new ByteCheck(downStream(1));
  check.take(bytesOf(downStream(1), 0, down));
  const seen: StreamSeen = {
    ...{ plan: exchange, down: check, asked: true, sent: true, status: 200, reason: "", answerOf: 1 },
    ...{ whole: down === answer.bytes, byClose: false, last: false, cut: false, end: "a reset with code 0" },
    ...changed,
  };
  const all = { streams: [seen], cut: false, late: false, stuck: undefined, broken: undefined, goaway: undefined };
  return judgeHttp2(session, all, () => account, { activatorEnded: false }).map(({ what }) => what);
}

describe("a verdict about a stream of HTTP/2", () => {
  it("accepts a whole exchange, and cuts by either side", () => {
    expect(judged([1_000, 500])).toEqual([]);
    expect(judged([400, 300], { cut: true })).toEqual([]);
    expect(judged([400, 500], {}, true)).toEqual([]);
  });

  it("reports a response without its end, although all bytes came", () => {
    expect(judged([1_000, 500], { whole: false })).toEqual(["HTTP/2: a response that was cut"]);
  });

  it("reports an incomplete response that has an end, whichever side broke off", () => {
    expect(judged([400, 500], { whole: true }, true)).toEqual(["HTTP/2: an incomplete response that looks complete"]);
  });

  it("reports a connection that stays after its client broke the protocol, and no cut of its streams", () => {
    const seen = { streams: [], cut: true, late: false, broken: undefined, goaway: undefined };
    const judge = (stuck?: string) =>
      judgeHttp2(session, { ...seen, stuck }, () => new Account(1), { activatorEnded: false });
    expect(judge()).toEqual([]);
    expect(judge("no byte for 20 s").map(({ what }) => what)).toEqual([
      "HTTP/2: a connection that stays behind a GOAWAY and a forbidden frame",
    ]);
  });

  it("reports an upload whose end did not come", () => {
    expect(judged([1_000, 300])).toEqual(["HTTP/2: an upload that was cut"]);
  });
});
