import type { Socket } from "node:net";
import { runGuarded } from "../../../lib/guard/guard.ts";
import type { YieldedConnection } from "../../front.ts";
import { type HeadBudget, unknownOwner } from "../../http1/front/head-budget.ts";
import { HandedToNode } from "../handed-to-node.ts";
import { turnFrames } from "../room/turn-frames.ts";

/** A connection whose session is to begin. */
interface NewSession {
  begin(socket: Socket): void;
  clientEnded(): void;
  cut(): void;
}

/** Begins the session of a new connection when the turn of the event loop has room. Until then, what was read of it counts in `heads`. */
export function beginInTurn({ socket, early }: YieldedConnection, session: NewSession, heads: HeadBudget): void {
  if (!("reader" in socket)) return wait(socket, { session, heads, bytes: 0 }, () => session.begin(socket));
  const read = early ?? Buffer.alloc(0);
  const reader = new HandedToNode(() => session.clientEnded());
  socket.reader = reader;
  const begin = () => {
    const unread = socket.unread(read);
    reader.wantsMore = true;
    session.begin(unread);
  };
  // After the read that is in progress: its end pauses the socket.
  queueMicrotask(() => wait(socket, { session, heads, bytes: read.length }, begin));
}

interface Waiting {
  readonly session: NewSession;
  readonly heads: HeadBudget;
  /** What was read. */
  readonly bytes: number;
}

function wait(socket: { readonly destroyed: boolean }, waiting: Waiting, begin: () => void): void {
  const { session, heads, bytes } = waiting;
  const cut = () => session.cut();
  const head = { owner: unknownOwner, shed: cut };
  const hasBegun = turnFrames.begin(() => {
    heads.release(head);
    if (!socket.destroyed) runGuarded("http-front", begin, cut);
  });
  if (!hasBegun && !socket.destroyed) heads.keep(head, bytes);
}
