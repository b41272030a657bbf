import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { responseHeaders } from "../carry/forward-headers.ts";
import type { Http1Exchange } from "./exchange.ts";
import { pairsOf } from "./read-head.ts";

export interface Switched {
  readonly socket: Socket;
  readonly incoming: IncomingMessage;
  /** What the sandbox sent right after the head of its 101. */
  readonly early: Buffer;
}

/** Passes bytes both ways, of whatever protocol, until both sides have ended; an end of one side is passed on alone. */
export function startTunnel(
  exchange: Http1Exchange,
  { socket: upstream, incoming, early }: Switched,
  lifetimeMs: number,
  clock: Clock,
): void {
  const { socket: client } = exchange;
  exchange.becomeTunnel();
  client.write(headOf(incoming), "latin1");
  if (early.length > 0) upstream.unshift(early);
  upstream.on("data", (chunk: Buffer) => {
    exchange.bytesOut += chunk.length;
  });
  upstream.pipe(client);
  client.pipe(upstream);
  const cut = () => {
    client.destroy();
    upstream.destroy();
  };
  const lifetime = lifetimeMs > 0 ? clock.after(lifetimeMs, cut) : undefined;
  let open = 2;
  const closed = () => {
    open -= 1;
    if (open > 0) return;
    lifetime?.cancel();
    exchange.endTunnel();
  };
  client.once("close", closed).on("error", cut);
  upstream.once("close", closed).on("error", cut);
  // A side that is gone without an end leaves the other nobody to talk to.
  client.once("close", () => client.readableEnded || upstream.destroy());
  upstream.once("close", () => upstream.readableEnded || client.destroy());
}

function headOf(incoming: IncomingMessage): string {
  const raw = pairsOf(incoming.rawHeaders);
  const upgrade = raw.filter(([name]) => name.toLowerCase() === "upgrade");
  const headers = [["Connection", "Upgrade"], ...upgrade, ...responseHeaders(raw)];
  const lines = [`HTTP/1.1 101 ${incoming.statusMessage ?? ""}`, ...headers.map((pair) => pair.join(": "))];
  return `${lines.join("\r\n")}\r\n\r\n`;
}
