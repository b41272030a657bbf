import type { Complaint } from "../findings.ts";
import type { Account } from "../ledger.ts";
import { type Http2Session, readsAll, type StreamPlan } from "../plan.ts";
import { type Add, describeExchange, type Excuse, judgeAnswered, judgeBytes } from "../verdict.ts";
import type { Http2Seen, StreamSeen } from "./client.ts";

/** The failures of one connection of HTTP/2. `accountOf` returns what the sandboxes received and sent. */
export function judgeHttp2(
  session: Http2Session,
  seen: Http2Seen,
  accountOf: (id: number) => Account,
  { activatorEnded }: Excuse,
): readonly Complaint[] {
  const found: Complaint[] = [];
  const isAsked = seen.streams.some(({ status }) => status > 0);
  const excused = activatorEnded || seen.cut || (seen.late && !isAsked);
  for (const [index, stream] of seen.streams.entries()) {
    const plan = session.streams[index];
    if (!stream.asked || !plan) continue;
    const account = accountOf(stream.plan.id);
    const add: Add = (what, expected, came) =>
      found.push({ what: `HTTP/2: ${what}`, sent: describe(plan, session), expected, came });
    // Over HTTP/2 a stream has its own end, with or without TLS.
    judgeBytes(stream, account, { tls: false }, add);
    if (excused || stream.cut) continue;
    if (stream.whole) judgeAnswered(stream, account, { tls: false }, add);
    else judgeCut(stream, account, seen, add);
  }
  const add: Add = (what, expected, came) =>
    found.push({ what: `HTTP/2: ${what}`, sent: `${session.streams.length} streams`, expected, came });
  if (seen.broken !== undefined) add("frames against the protocol", "frames", seen.broken);
  if (seen.cut && seen.stuck !== undefined && session.endsBy === "offence") {
    add("a connection that stays behind a GOAWAY and a forbidden frame", `an end after ${session.offence}`, seen.stuck);
  }
  if (!excused && (seen.goaway ?? 0) !== 0) add("an end of the connection", "none", `GOAWAY with ${seen.goaway}`);
  return found;
}

function judgeCut({ plan, down, status, end }: StreamSeen, account: Account, { stuck }: Http2Seen, add: Add): void {
  const expected = `200 with ${plan.answer.bytes} bytes`;
  const came = `${status === 0 ? "nothing" : `${status} and ${down.length} bytes`}, then ${end}`;
  const written = account.downWritten ? "has written all" : "has not written all";
  const at = `the sandbox saw it ${account.times} times and ${written}; its connection: ${account.lost ?? "open"}`;
  if (stuck) return add("an exchange without progress", expected, `${came}; ${at}`);
  // A close while the client sends may cut the response.
  if (account.reset || !readsAll(plan)) return;
  add("a response that was cut", expected, `${came}; ${at}`);
}

function describe({ exchange, reading, resetAt }: StreamPlan, session: Http2Session): string {
  const { tls, depth, link, streams } = session;
  const window = `${link.windowBytes} bytes${link.sharesWindow ? " (shared)" : ""}`;
  const cut = resetAt === undefined ? "" : `, which it resets after ${resetAt} bytes`;
  return (
    `${describeExchange(exchange, "HTTP/2")}${tls ? " over TLS" : ""}; one of ${streams.length} streams${cut}, ${depth} at once, ` +
    `with windows of ${window}, by a client that reads ${reading.bytesPerTick} bytes each ${reading.tickMs} ms after ${reading.waitMs} ms`
  );
}
