import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { workloadPort } from "../sleep/workload.ts";
import { eventually } from "../support/eventually.ts";
import { nextLoopbackAddress } from "../support/sockets/loopback-address.ts";
import { ByteCheck, bytesOf, downStream, upStream } from "./bytes.ts";
import type { Seen, SessionSeen } from "./client-http.ts";
import { Account, Ledger } from "./ledger.ts";
import { atOnce } from "./link.ts";
import type { AnswerPlan, ExchangePlan, HttpSession } from "./plan.ts";
import { PlannedHttpServer } from "./sandbox-http.ts";
import { judgeHttp } from "./verdict.ts";

const answer: AnswerPlan = {
  when: "after",
  readsOn: true,
  delayMs: 0,
  interims: 0,
  bytes: 1_000,
  framing: "length",
  sending: { pieceBytes: 1_000, everyMs: 0 },
  ending: "keep",
  endAfterMs: 0,
};

const planOf = (id: number, changed: Partial<AnswerPlan> = {}): ExchangePlan => ({
  kind: "exchange",
  id,
  sandbox: "steady-0",
  method: "GET",
  minorVersion: 1,
  keepsAlive: true,
  upload: undefined,
  reading: atOnce,
  answer: { ...answer, ...changed },
});

/** A client that received `bytes` bytes of its response. */
function seen(plan: ExchangePlan, bytes: number, changed: Partial<Seen> = {}): Seen {
  const down = new ByteCheck(downStream(plan.id));
  down.take(bytesOf(downStream(plan.id), 0, bytes));
  const answered = { status: 200, reason: "", answerOf: plan.id, whole: bytes === plan.answer.bytes };
  return { plan, down, asked: true, sent: true, byClose: false, last: false, ...answered, ...changed };
}

/** The sorts of complaints about one connection. */
function judged(
  exchanges: readonly Seen[],
  accounts: readonly Account[],
  activatorEnded = false,
  late = false,
): readonly string[] {
  const session: HttpSession = {
    ...{ kind: "http", tls: false, depth: 2, reading: atOnce },
    exchanges: exchanges.map(({ plan }) => plan),
  };
  const all: SessionSeen = { exchanges, ending: "ended", cut: false, late, stuck: undefined, broken: undefined };
  const accountOf = (id: number) => accounts[exchanges.findIndex(({ plan }) => plan.id === id)] ?? new Account(id);
  return judgeHttp(session, all, accountOf, { activatorEnded }).map(({ what }) => what);
}

describe("a verdict about responses", () => {
  it("accepts a complete response", () => {
    expect(judged([seen(planOf(1), 1_000)], [new Account(1)])).toEqual([]);
  });

  it("reports a cut response of a sandbox without faults", () => {
    expect(judged([seen(planOf(1), 400)], [new Account(1)])).toEqual(["a response that was cut"]);
  });

  it("accepts a cut by the sandbox, and by the end of the activator's process", () => {
    const reset = Object.assign(new Account(1), { reset: true });
    expect(judged([seen(planOf(1), 400)], [reset])).toEqual([]);
    expect(judged([seen(planOf(1), 400)], [new Account(1)], true)).toEqual([]);
  });

  it("accepts a close without a response only if the client was too late to speak", () => {
    const nothing = seen(planOf(1), 0, { status: 0 });
    expect(judged([nothing], [new Account(1)])).toEqual(["a response that was cut"]);
    expect(judged([nothing], [new Account(1)], false, true)).toEqual([]);
    expect(judged([seen(planOf(1), 400)], [new Account(1)], false, true)).toEqual(["a response that was cut"]);
  });

  it("accepts the loss of a pipelined response before one that the sandbox cut", () => {
    const reset = Object.assign(new Account(2), { reset: true });
    const both = [seen(planOf(1), 400), seen(planOf(2), 0, { status: 0 })];
    expect(judged(both, [new Account(1), reset])).toEqual([]);
    expect(judged(both, [new Account(1), new Account(2)])).toEqual(["a response that was cut"]);
  });

  it("expects nothing after the last response of a connection", () => {
    const all = [seen(planOf(1), 1_000, { last: true }), seen(planOf(2), 1_000), seen(planOf(3), 400)];
    expect(judged(all, [])).toEqual([]);
  });

  it("reports an incomplete response that looks complete", () => {
    const reset = Object.assign(new Account(1), { reset: true });
    expect(judged([seen(planOf(1), 400, { whole: true, byClose: true })], [reset])).toEqual([
      "an incomplete response that looks complete",
    ]);
  });

  it("reports wrong bytes, even if the activator's process has ended", () => {
    const wrong = seen(planOf(1), 400);
    wrong.down.take(bytesOf(downStream(7), 400, 500));
    expect(judged([wrong], [new Account(1)], true)).toEqual(["wrong bytes in a response"]);
  });

  it("reports an upload that is cut after the answer of a sandbox that reads on, and a cut of that answer", () => {
    const upload = { bytes: 500, framing: "length", sending: { pieceBytes: 500, everyMs: 0 } } as const;
    const early = { ...planOf(1, { when: "first" }), upload };
    const account = new Account(1);
    account.up.take(bytesOf(upStream(1), 0, 300));
    expect(judged([seen(early, 1_000)], [account])).toEqual(["an upload that was cut"]);
    expect(judged([seen(early, 400)], [account])).toEqual(["a response that was cut"]);
    account.up.take(bytesOf(upStream(1), 300, 500));
    account.upEnded = true;
    expect(judged([seen(early, 1_000)], [account])).toEqual([]);
    const closing = { ...planOf(1, { when: "first", ending: "reset" }), upload };
    expect(judged([seen(closing, 400)], [new Account(1)])).toEqual([]);
  });

  it("reports a request that reached a sandbox twice", () => {
    const twice = Object.assign(new Account(1), { times: 2 });
    expect(judged([seen(planOf(1), 1_000)], [twice])).toEqual(["a request was sent to a sandbox again"]);
  });
});

describe("a sandbox's connection", () => {
  it("that an earlier exchange has ended counts as ended by it, also if the exchange then resets it", async () => {
    const ledger = new Ledger();
    ledger.open(planOf(1, { ending: "silent", endAfterMs: 50 }));
    ledger.open(planOf(2, { framing: "close", cutAt: 400, endAfterMs: 500 }));
    await using server = new PlannedHttpServer(ledger);
    const host = nextLoopbackAddress();
    await server.listen(host);
    const client = connect({ host, port: workloadPort, allowHalfOpen: true });
    let received = "";
    client.on("data", (bytes: Buffer) => {
      received += bytes.toString("latin1");
    });
    client.write("GET /t/1 HTTP/1.1\r\n\r\n");
    await eventually(() => received.length > 1_000);
    client.write("GET /t/2 HTTP/1.1\r\n\r\n");
    await once(client, "end");
    await eventually(() => ledger.accountOf(2).lost === "closed");
    client.destroy();
    expect(ledger.accountOf(2).endedByAnother).toBe(true);
  });
});
