import { describeWrong } from "../bytes.ts";
import type { Complaint } from "../findings.ts";
import type { Account } from "../ledger.ts";
import type { CallPlan, StreamTalksSession, TalkPlan } from "../plan.ts";
import { rude } from "../sandboxes.ts";
import type { Add, Excuse } from "../verdict.ts";
import type { StreamTalkSeen } from "./client-talks.ts";

/** Status codes of gRPC. */
const deadlineExceeded = 4;
const unavailable = 14;
/** Of HTTP/2: no program has seen the call. */
const refusedStream = 7;

/** The failures of one call of gRPC. */
export function judgeCall(
  plan: { readonly talk: TalkPlan; readonly call: CallPlan; readonly session: StreamTalksSession },
  seen: StreamTalkSeen,
  account: Account,
  { activatorEnded }: Excuse,
): readonly Complaint[] {
  if (!seen.asked) return [];
  const found: Complaint[] = [];
  const { talk, call, session } = plan;
  const sent = describe(talk, call, session);
  const name = `gRPC${nameOf(call, session)}${session.tls ? " over TLS" : ""}`;
  const add: Add = (what, expected, came) => found.push({ what: `${name}: ${what}`, sent, expected, came });
  judgeAlways(talk, seen, account, add);
  if (activatorEnded || (seen.late && account.times === 0)) return found;
  const came = describeSeen(seen, account);
  if (seen.stuck) add("no progress", "an end", came);
  else if (!seen.cut && !isExcused(talk, call, seen, account)) judgeWhole(talk, seen, account, add);
  return found;
}

/** What must hold even if the call was cut. */
function judgeAlways({ id, client, pod, call }: TalkPlan, seen: StreamTalkSeen, account: Account, add: Add): void {
  const { down, heard, answerOf, endOf, grpcStatus, ending, status } = seen;
  if (down.wrong) add("wrong bytes to the client", `${pod.bytes} right bytes`, describeWrong(down));
  if (account.up.wrong) add("wrong bytes to the sandbox", `${client.bytes} right bytes`, describeWrong(account.up));
  if (account.times > 1) add("it reached the sandbox twice", "once", `${account.times} times`);
  for (const broken of [heard.broken, account.heard?.broken, account.broken]) {
    if (broken !== undefined) add("what was not sent", "messages", broken);
  }
  for (const told of [answerOf, endOf]) {
    if (told !== undefined && Number(told) !== id) add("another call", String(id), told);
  }
  const came = describeSeen(seen, account);
  if (call?.web && ending === "ended" && status === 101 && (grpcStatus === undefined || !heard.isBetween)) {
    add("an end without a last message", "trailers or a cut", came);
  }
  if (account.upEnded && account.up.length < client.bytes)
    add("an incomplete request that looks complete", `${client.bytes} bytes or a reset`, came);
  const isOk = grpcStatus === 0 || grpcStatus === call?.status;
  if (endOf !== undefined && isOk && down.length < pod.bytes && !seen.cut) {
    add("an incomplete response that looks complete", `${pod.bytes} bytes or an error`, came);
  }
}

/** What the planned faults explain. */
function isExcused(talk: TalkPlan, call: CallPlan, seen: StreamTalkSeen, account: Account): boolean {
  const { grpcStatus, endOf, resetCode, tookMs, ending } = seen;
  if (endOf !== undefined && ending === "ended") return false; // the program's own end
  const isLate = call.deadlineMs !== undefined && tookMs >= call.deadlineMs;
  // A call of gRPC-Web whose time is over within a message is cut.
  const isCut = call.web !== undefined && grpcStatus === undefined && ending !== "ended";
  if (isLate && (grpcStatus === deadlineExceeded || isCut)) return true;
  const isRude = rude.includes(talk.sandbox);
  if (resetCode === refusedStream && grpcStatus === undefined) return isRude && (account.reset || account.times === 0);
  // A program that ends its connection: the call was on its way.
  if (isRude && grpcStatus === unavailable) return true;
  return account.reset && grpcStatus !== 0;
}

function judgeWhole(talk: TalkPlan, seen: StreamTalkSeen, account: Account, add: Add): void {
  const { pod, client, call } = talk;
  const { down, grpcStatus, endOf, ending, status } = seen;
  const isAnswered = status === 101 && grpcStatus === call?.status && endOf !== undefined && ending === "ended";
  const isWhole = down.length === pod.bytes && (!hearsAll(talk) || account.up.length === client.bytes);
  const expected = `status ${call?.status} behind ${pod.bytes} bytes`;
  if (!isAnswered || !isWhole) add("a cut", expected, describeSeen(seen, account));
}

/** The program ends only when it has the whole request. */
const hearsAll = ({ pod, call }: TalkPlan) => call?.answers === "after" || pod.ends !== "sent";

function describeSeen(seen: StreamTalkSeen, account: Account): string {
  const { down, ending, status, grpcStatus = "none", reason, resetCode = "none", tookMs } = seen;
  return (
    `to the client ${down.length} bytes, then ${ending} after ${Math.round(tookMs)} ms, status ${status === 101 ? 200 : status}, ` +
    `of gRPC ${grpcStatus} (${reason}), reset ${resetCode}; to the sandbox ${account.up.length} bytes, ` +
    `${account.upEnded ? "then the end" : "no end"}, ${account.times} times; its stream: ${account.lost ?? "open"}`
  );
}

function nameOf({ web }: CallPlan, { byHttp1 }: StreamTalksSession): string {
  if (!web) return "";
  return `-Web${web.isText ? " in base64" : ""}${byHttp1 ? " by HTTP/1.1" : ""}`;
}

function describe(talk: TalkPlan, call: CallPlan, { depth, talks, link, tls }: StreamTalksSession): string {
  const { id, sandbox, client, pod, frames } = talk;
  return (
    `call ${id} to ${sandbox}${tls ? " over TLS" : ""}, ${client.bytes} bytes up and ${pod.bytes} down, ` +
    `in messages of ${frames?.client.bytes} and ${frames?.pod.bytes}, answered ${call.answers} after ${call.delayMs} ms, ` +
    `deadline ${call.deadlineMs ?? "none"}, ends: ${client.ends} and ${pod.ends}, ` +
    `resets: ${client.resetAt ?? "none"} and ${pod.resetAt ?? "none"} with code ${call.resetCode}, connection: ${call.connection}; ` +
    `one of ${talks.length} calls, ${depth} at once, windows of ${link.windowBytes} bytes`
  );
}
