import type { ClientView } from "../../headers/base-path.ts";
import type { ResponseHead } from "../../http1/parse/response-head.ts";
import { pairsOf, textLength, valuesByName } from "../front/field-lines.ts";
import type { StreamExchange } from "../front/stream-exchange.ts";
import { dropSentInterim } from "../node-internals/sent-fields.ts";
import { responseFields } from "./response-fields.ts";

/** The maximum number of interim responses of one request that are relayed. Each waits in memory until the client reads it. */
const interimMax = 8;

/**
 * The interim responses of one request. 100 is sent once, and 103 is relayed: clients of HTTP/2 know that it is not the final
 * response. All others are dropped.
 */
export class InterimResponses {
  readonly #exchange: Pick<StreamExchange, "stream" | "out" | "bytesArrived">;
  readonly #view: ClientView | undefined;
  #sent = 0;
  #continued = false;

  /** `view`: as for the final response. */
  constructor(exchange: Pick<StreamExchange, "stream" | "out" | "bytesArrived">, view: ClientView | undefined) {
    this.#exchange = exchange;
    this.#view = view;
  }

  relay(head: ResponseHead): void {
    if (head.status === 100) return this.continue();
    if (head.status !== 103 || this.#sent >= interimMax || !this.#isOpen) return;
    this.#sent += 1;
    const fields = responseFields(head, { keepsTrailer: false, drops: finalFields, view: this.#view });
    const { stream, out, bytesArrived } = this.#exchange;
    out.gaveFields(textLength(fields));
    bytesArrived();
    stream.additionalHeaders({ ...valuesByName(pairsOf(fields)), ":status": 103 });
    dropSentInterim(stream);
  }

  /** The client may send its body. */
  continue(): void {
    if (this.#continued || !this.#isOpen) return;
    this.#continued = true;
    this.#exchange.stream.additionalHeaders({ ":status": 100 });
  }

  get #isOpen(): boolean {
    const { stream } = this.#exchange;
    return !stream.headersSent && !stream.closed && !stream.destroyed;
  }
}

/** A cookie belongs into the final response. */
const finalFields: ReadonlySet<string> = new Set(["content-length", "set-cookie"]);
