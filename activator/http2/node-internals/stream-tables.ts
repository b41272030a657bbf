import { TableAge } from "../../../lib/data/turnover.ts";
import { sessionState } from "./native-handles.ts";

/** Moves the streams of a session of Node to new tables again and again, as a TurnoverMap does. With another Node it does nothing. */
export class StreamTables {
  readonly #session: object;
  readonly #age = new TableAge();

  constructor(session: object) {
    this.#session = session;
  }

  /** Call it when a stream has begun, outside of Node's own walks over its streams. */
  streamAdded(): void {
    const state = sessionState(this.#session);
    if (!state || !this.#age.isOver(state.streams.size)) return;
    state.streams = new Map(state.streams);
    state.pendingStreams = new Set(state.pendingStreams);
  }
}
