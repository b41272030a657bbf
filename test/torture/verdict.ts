import { describeWrong } from "./bytes.ts";
import type { Seen, SessionSeen } from "./client-http.ts";
import type { TalkSeen } from "./client-talk.ts";
import type { Complaint } from "./findings.ts";
import type { Account } from "./ledger.ts";
import {
  type ExchangePlan,
  type FramesPlan,
  type HttpSession,
  isEarly,
  readsAll,
  type TalkPlan,
  type TalkSession,
} from "./plan.ts";
import { rude } from "./sandboxes.ts";

/** Whether only the bytes can be judged, because the activator exited meanwhile. */
export interface Excuse {
  readonly activatorEnded: boolean;
}

/** The failures of one HTTP connection. `accountOf` returns what the sandboxes received and sent. */
export function judgeHttp(
  session: HttpSession,
  seen: SessionSeen,
  accountOf: (id: number) => Account,
  { activatorEnded }: Excuse,
): readonly Complaint[] {
  const found: Complaint[] = [];
  const [first] = seen.exchanges;
  const excused = activatorEnded || seen.cut || (seen.late && first?.status === 0);
  for (const [index, exchange] of seen.exchanges.entries()) {
    if (!exchange.asked) break;
    const account = accountOf(exchange.plan.id);
    const sent = describe(exchange.plan, session);
    const add = (what: string, expected: string, came: string) => found.push({ what, sent, expected, came });
    judgeBytes(exchange, account, session, add);
    if (excused) continue;
    const ended = seen.exchanges.slice(0, index).some(({ plan, last, whole }) => last || !whole || !readsAll(plan));
    // A cut of a later response discards earlier responses in the kernel that the client has not read (RFC 9112, 9.3.2).
    const cutLater = seen.exchanges.slice(index + 1).some(({ plan }) => accountOf(plan.id).reset || !readsAll(plan));
    if (exchange.whole) judgeAnswered(exchange, account, session, add);
    else if (!ended && !(cutLater && !seen.stuck)) judgeCut(exchange, account, seen, add);
  }
  if (seen.broken !== undefined && !excused) {
    const sent = session.exchanges.map(({ id }) => id).join(" ");
    found.push({ what: "a response that is not HTTP", sent, expected: "responses", came: seen.broken });
  }
  return found;
}

export type Add = (what: string, expected: string, came: string) => void;

type WithTls = Pick<HttpSession, "tls">;

/** What must hold even if the exchange was cut. */
export function judgeBytes(
  { plan, down, whole, answerOf, byClose }: Seen,
  account: Account,
  { tls }: WithTls,
  add: Add,
) {
  const uploadBytes = plan.upload?.bytes ?? 0;
  if (account.broken !== undefined) add("a request that is not HTTP came to a sandbox", "a request", account.broken);
  if (account.up.wrong) add("wrong bytes in an upload", `${uploadBytes} right bytes`, describeWrong(account.up));
  if (account.times > 1) add("a request was sent to a sandbox again", "once", `${account.times} times`);
  if (account.upEnded && account.up.length !== uploadBytes) {
    add("an incomplete upload that looks complete", `${uploadBytes} bytes`, `${account.up.length} bytes and an end`);
  }
  if (answerOf === undefined) return;
  if (answerOf !== plan.id) return add("the response of another request", String(plan.id), String(answerOf));
  const bytes = plan.method === "HEAD" ? 0 : plan.answer.bytes;
  if (down.wrong)
    add(
      `wrong bytes in ${isEarly(plan) ? "an early answer" : "a response"}`,
      `${bytes} right bytes`,
      describeWrong(down),
    );
  // Node's client does not distinguish a TLS close from a missing one.
  const isAmbiguous = (byClose && tls) || (plan.answer.framing === "close" && account.endedByAnother);
  if (whole && down.length !== bytes && !isAmbiguous) {
    const end = byClose ? "a clean close" : "the end of the body";
    add("an incomplete response that looks complete", `${bytes} bytes or a reset`, `${down.length} bytes and ${end}`);
  }
}

export function judgeAnswered(exchange: Seen, account: Account, session: WithTls, add: Add): void {
  judgeAnswer(exchange, add);
  if (!owesUpload(exchange, account, session)) return;
  const came = `${account.up.length} bytes; the connection of the sandbox: ${account.lost ?? "open"}`;
  add("an upload that was cut", `all ${exchange.plan.upload?.bytes ?? 0} bytes and their end`, came);
}

/** Whether the sandbox has answered, and its program reads all, but the end of the request has not come. */
export function owesUpload({ plan, sent, answerOf, byClose }: Seen, account: Account, { tls }: WithTls): boolean {
  if (plan.upload === undefined || answerOf === undefined || !readsAll(plan)) return false;
  // Over TLS, Node's client cannot send on after the end of its response.
  return !account.upEnded && !account.reset && (sent || !(byClose && tls));
}

function judgeAnswer({ plan, status, reason, answerOf }: Seen, add: Add): void {
  if (answerOf !== undefined) return;
  // The program has just closed the connection, or resets it before it answers.
  if (status === 502 && rude.includes(plan.sandbox)) return;
  add(`a rejection with ${status} ${reason}`, `200 with ${plan.answer.bytes} bytes`, `${status} ${reason}`);
}

function judgeCut({ plan, down, status }: Seen, account: Account, { stuck, ending }: SessionSeen, add: Add): void {
  const expected = `200 with ${plan.answer.bytes} bytes`;
  const came = `${status === 0 ? "nothing" : `${status} and ${down.length} bytes`}, then ${ending}`;
  const written = account.downWritten ? "has written all" : "has not written all";
  const at = `the sandbox saw it ${account.times} times and ${written}; its connection: ${account.lost ?? "open"}`;
  if (stuck) return add("an exchange without progress", expected, `${came}; ${at}`);
  // A close while the client sends may cut the response (RFC 9112, 9.6).
  if (account.reset || !readsAll(plan)) return;
  add("a response that was cut", expected, `${came}; ${at}`);
}

/** The failures of one conversation. */
export function judgeTalk(
  { talk, tls }: Pick<TalkSession, "talk" | "tls">,
  seen: TalkSeen,
  account: Account,
  { activatorEnded }: Excuse,
): readonly Complaint[] {
  const found: Complaint[] = [];
  const { client, pod, by } = talk;
  const name = `${nameOf(talk)}${tls ? " over TLS" : ""}`;
  const sent = describeTalk(talk, name);
  const add: Add = (what, expected, came) => found.push({ what: `${name}: ${what}`, sent, expected, came });
  const { down } = seen;
  if (down.wrong) add("wrong bytes to the client", `${pod.bytes} right bytes`, describeWrong(down));
  if (account.up.wrong) add("wrong bytes to the sandbox", `${client.bytes} right bytes`, describeWrong(account.up));
  if (account.times > 1) add("it reached the sandbox twice", "once", `${account.times} times`);
  judgeFrames(talk, seen, account, add);
  if (activatorEnded || (seen.late && account.times === 0)) return found;
  const came =
    `to the client ${down.length} bytes, then ${seen.ending}${seen.status === 101 ? "" : `, status ${seen.status}`}; ` +
    `to the sandbox ${account.up.length} bytes, ${account.upEnded ? "then the end" : `no end; its connection: ${account.lost ?? "open"}`}`;
  if (seen.stuck) add("no progress", "an end", came);
  else if (!seen.cut && !account.reset) {
    const isWhole = down.length === pod.bytes && account.up.length === client.bytes && account.upEnded;
    if (!isWhole || seen.ending !== "ended") add("a cut", "all bytes and the end, both ways", came);
  } else if (!tls || by === "stream") {
    // A stream of HTTP/2 has its own end, over TLS too.
    const isShort = seen.ending === "ended" && down.length < pod.bytes && seen.status === 101;
    if (isShort) add("an end to the client that was a reset", `${pod.bytes} bytes or a reset`, came);
    const isShortUp = account.upEnded && account.up.length < client.bytes;
    if (isShortUp) add("an end to the sandbox that was a reset", `${client.bytes} bytes or a reset`, came);
  }
  return found;
}

function describe(plan: ExchangePlan, session: HttpSession): string {
  const { tls, depth, reading, exchanges } = session;
  const pace = Number.isFinite(reading.bytesPerTick)
    ? `${reading.bytesPerTick} bytes each ${reading.tickMs} ms`
    : "all";
  const version = `HTTP/1.${plan.minorVersion}${plan.keepsAlive ? "" : " (the last)"}${tls ? " over TLS" : ""}`;
  return (
    `${describeExchange(plan, version)}, one of ${exchanges.length} on its connection, ` +
    `${depth} at once, by a client that waits ${reading.waitMs} ms and reads ${pace}`
  );
}

/** What must hold of the frames of a WebSocket, even if it was cut. */
function judgeFrames({ frames }: TalkPlan, { heard, ending, cut }: TalkSeen, account: Account, add: Add): void {
  if (!frames) return;
  const sides = [
    { to: "client", speech: heard, closes: frames.pod.closes, isWhole: ending === "ended" && !cut && !account.reset },
    { to: "sandbox", speech: account.heard, closes: frames.client.closes, isWhole: account.upEnded && !cut },
  ] as const;
  for (const { to, speech, closes, isWhole } of sides) {
    if (speech?.broken !== undefined) add(`frames to the ${to} that were not sent`, "the frames", speech.broken);
    const code = speech?.closeCode;
    const expected = closes ? "1000" : "no close frame";
    if (code !== undefined && (code !== 1_000 || !closes)) add(`a close frame to the ${to}`, expected, String(code));
    if (code === undefined && closes && isWhole) add(`no close frame to the ${to}`, expected, "an end without one");
  }
}

const nameOf = ({ by, frames }: TalkPlan): string =>
  by === "stream" ? "WebSocket over HTTP/2" : frames ? "WebSocket" : by === "tcp" ? "TCP" : "upgrade";

function describeTalk({ id, client, pod, ahead, early, sandbox, frames }: TalkPlan, name: string): string {
  const side = ({ bytes, closes }: FramesPlan) => `${bytes} bytes${closes ? " and a close frame" : ""}`;
  const form = frames ? `, frames of ${side(frames.client)} up and ${side(frames.pod)} down` : "";
  return (
    `${name} ${id} to ${sandbox}, ` +
    `${client.bytes} bytes up (${ahead} before the answer), ${pod.bytes} down (${early} with the answer), ` +
    `ends: ${client.ends} and ${pod.ends}, resets: ${client.resetAt ?? "none"} and ${pod.resetAt ?? "none"}${form}`
  );
}

/** `version`: of the protocol. */
export function describeExchange({ id, method, sandbox, upload, answer }: ExchangePlan, version: string): string {
  const up = upload ? ` with ${upload.bytes} bytes (${upload.framing})` : "";
  const cut = answer.cutAt === undefined ? "" : `, cut at ${answer.cutAt}`;
  return (
    `${method} ${id} ${version} to ${sandbox}${up}, ` +
    `answered ${answer.when} with ${answer.bytes} bytes (${answer.framing}${cut}), then ${answer.ending}`
  );
}
