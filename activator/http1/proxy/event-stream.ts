import { EventStreamLines } from "../../activity/event-stream-lines.ts";
import type { OpenListener, ProxyRequestOptions } from "../../proxy-interface.ts";

/** A response of events, each of which is activity. */
export class EventStream {
  readonly #listener: OpenListener;
  readonly #lines = new EventStreamLines();

  constructor(listener: OpenListener) {
    this.#listener = listener;
  }

  /** Undefined: its events do not count. The client or the Pod ends it: the activator has no message for an event source. */
  static open(onOpen: ProxyRequestOptions["onOpen"]): EventStream | undefined {
    const listener = onOpen?.({ close: () => {} });
    return listener && new EventStream(listener);
  }

  passed(bytes: Buffer, start: number, end: number): void {
    if (this.#lines.sawEvent(bytes, start, end)) this.#listener.moved();
  }

  /** The sandbox has sent its last event. */
  ended(): void {
    this.#listener.sandboxEnded();
  }
}
