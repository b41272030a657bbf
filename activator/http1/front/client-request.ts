import type { HeaderPair, RequestHead } from "../../request.ts";
import type { RequestHead as WireHead } from "../request-head.ts";

/** The head of a request as the middle of the activator sees it, read from the wire as far as it is asked for. */
export class ClientRequest implements RequestHead {
  readonly wire: WireHead;
  readonly peer: string;
  readonly scheme: "http" | "https";
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly upgrade: boolean;
  #headers: readonly HeaderPair[] | undefined;

  /** `wire` must have bytes of its own. */
  constructor(wire: WireHead, peer: string, scheme: "http" | "https") {
    this.wire = wire;
    this.peer = peer;
    this.scheme = scheme;
    this.method = wire.method;
    this.target = wire.path;
    this.host = wire.form === "absolute" ? wire.text(wire.authorityStart, wire.authorityEnd) : wire.host;
    // A server may ignore an offer to upgrade (RFC 9110, 7.8); with a body in between, bytes would be ambiguous.
    this.upgrade = wire.asksUpgrade && wire.facts.contentLength < 0 && !wire.facts.isChunked;
  }

  get headers(): readonly HeaderPair[] {
    if (this.#headers) return this.#headers;
    const { wire } = this;
    const pairs: HeaderPair[] = [];
    for (let index = 0; index < wire.fieldCount; index += 1) pairs.push([wire.name(index), wire.value(index)]);
    this.#headers = pairs;
    return pairs;
  }

  /** The client waits for `100 Continue` before it sends its body. Only HTTP/1.1 has that (RFC 9110, 10.1.1). */
  get expectsContinue(): boolean {
    return this.wire.facts.hasExpect && this.wire.minorVersion === 1 && this.wire.framing !== "none";
  }

  /** The client expects something that cannot be met. */
  get expectsTheImpossible(): boolean {
    const { facts, minorVersion } = this.wire;
    return facts.hasExpect && minorVersion === 1 && this.wire.valueOf("expect")?.toLowerCase() !== "100-continue";
  }
}
