/** Sessions and streams have it in common. */
let handleSymbol: symbol | undefined;

/** The native part of a session or stream of Node. Undefined: another Node, or destroyed. */
export function nativeHandle(owner: object): object | undefined {
  handleSymbol ??= hiddenSymbol(owner, "kHandle");
  const handle: unknown = handleSymbol && Reflect.get(owner, handleSymbol);
  return typeof handle === "object" && handle !== null ? handle : undefined;
}

/** Whether nghttp2 still reads or writes on a session. Undefined: another Node, or destroyed. */
export function hasPendingFrames(session: object): boolean | undefined {
  const handle = nativeHandle(session);
  if (!handle || !("hasPendingData" in handle) || typeof handle.hasPendingData !== "function") return undefined;
  return handle.hasPendingData() === true;
}

/** Keeps the native part of each session until those of its streams are freed. The callback has nothing to do. */
const sessionsOfStreams = new FinalizationRegistry<object>(() => {});

/**
 * Lets Node free a session only after this stream, by their native parts. Node (24.21 and 26.10) aborts the process if it frees the session
 * first and the stream has fields of a block that never ended: trailers that a client broke off, while a write of that stream had not
 * finished. Then the stream is left to the garbage collector, which frees both in any order.
 *
 * Call it when the stream is closed, and keep both parts until then. A stream that the other side has ended has no such fields.
 */
export function freeLast(session: object | undefined, stream: object | undefined): void {
  if (session && stream) sessionsOfStreams.register(stream, session);
}

/** Node keeps these parts of a request's head with its stream, for pushes alone. */
const originNames = ["authority", "protocol"] as const;
let originSymbols: readonly (symbol | undefined)[] | undefined;

/** Drops the texts that a client has chosen and that Node keeps with the stream. Each may take as much as a whole head. */
export function dropOrigin(stream: object): void {
  originSymbols ??= originNames.map((name) => hiddenSymbol(stream, name));
  for (const symbol of originSymbols) if (symbol) Reflect.set(stream, symbol, undefined);
}

/** Where a session of Node keeps its streams. */
export interface SessionState {
  streams: Map<unknown, unknown>;
  pendingStreams: Set<unknown>;
}

let stateSymbol: symbol | undefined;

/** Undefined: another Node. */
export function sessionState(session: object): SessionState | undefined {
  stateSymbol ??= hiddenSymbol(session, "state");
  const state: unknown = stateSymbol && Reflect.get(session, stateSymbol);
  return isSessionState(state) ? state : undefined;
}

function isSessionState(state: unknown): state is SessionState {
  if (typeof state !== "object" || state === null) return false;
  return "streams" in state && isTable(state.streams) && "pendingStreams" in state && isTable(state.pendingStreams);
}

/** Node's own maps and sets have the methods of Map and Set, and are no instances of them. */
const isTable = (table: unknown): boolean =>
  typeof table === "object" && table !== null && Symbol.iterator in table && "size" in table && "forEach" in table;

/** A symbol that Node does not publish. Undefined: another Node. */
export function hiddenSymbol(owner: object, name: string): symbol | undefined {
  return Object.getOwnPropertySymbols(owner).find(({ description }) => description === name);
}
