import type { ErrorCode } from "../../failures/errors-for-clients.ts";
import type { ResponseHead } from "../../http1/parse/response-head.ts";
import { isOffered } from "../../http1/parse/upgrade-offer.ts";
import { statusMax, uncarried } from "../front/status-max.ts";
import type { StreamExchange } from "../front/stream-exchange.ts";
import { provesWebSocket } from "./web-socket-proof.ts";

export interface ResponseRefusal {
  readonly code: ErrorCode;
  readonly because: string;
}

/** Why a response cannot be forwarded to a client of HTTP/2; undefined if it can. */
export function refusalOf(
  head: ResponseHead,
  { webSocketKey, head: asked }: Pick<StreamExchange, "webSocketKey" | "head">,
): ResponseRefusal | undefined {
  if (head.status === 101) {
    const because = reasonAgainstSwitch(head, webSocketKey, asked.upgradeOffer);
    return because === undefined ? undefined : { code: "UnaskedUpgrade", because };
  }
  const because = reasonAgainst(head.status, webSocketKey !== undefined);
  return because === undefined ? undefined : { code: "ResponseLost", because };
}

function reasonAgainstSwitch(
  head: ResponseHead,
  webSocketKey: string | undefined,
  offer: Parameters<typeof isOffered>[1],
): string | undefined {
  if (webSocketKey === undefined || !isOffered(head.valueOf("upgrade"), offer)) {
    return "the sandbox switched to a protocol that was not asked for";
  }
  const isProven = provesWebSocket(head.valueOf("sec-websocket-accept"), webSocketKey);
  return isProven ? undefined : "the sandbox answered a WebSocket with a wrong Sec-WebSocket-Accept or with none";
}

function reasonAgainst(status: number, isWebSocket: boolean): string | undefined {
  // To the client, success would mean that the stream is a WebSocket now.
  if (isWebSocket && status < 300) return `the sandbox answered a WebSocket with the status ${status} instead of 101`;
  return status > statusMax ? uncarried(status) : undefined;
}
