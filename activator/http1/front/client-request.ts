import { ownText } from "../../../lib/data/own-text.ts";
import { acceptCharactersMax } from "../../failures/html-page.ts";
import {
  type GrpcCall,
  type HeaderPair,
  headerValue,
  headerValues,
  type KeptBody,
  loggedCharactersMax,
  pathOf,
  type RequestHead,
  type RequestProtocol,
} from "../../request.ts";
import type { ClientOrigin } from "../../socket/client-origin.ts";
import type { RequestHead as WireHead } from "../parse/request-head.ts";
import { passableProtocols } from "../parse/upgrade-offer.ts";

/** Heads up to these numbers are kept whole: they are small beside the rest of a request in progress. */
const smallHeadBytes = 2_048;
const smallHeadFields = 64;

/** What is kept for each field besides its bytes, as measured: where it is, and a pair of strings for its name and value. */
const fieldOverheadBytes = 160;

/** What a head of HTTP/1.1 alone does not say. */
export interface RequestFacts {
  /** The request came over HTTP/2. */
  readonly isHttp2?: boolean;
  readonly grpc?: GrpcCall | undefined;
}

type Origin = Pick<ClientOrigin, "peer" | "clientIp" | "scheme">;

/** The head of a request, as the rest of the activator sees it. Fields are read from the wire on demand. */
export class ClientRequest implements RequestHead {
  readonly wire: WireHead;
  readonly peer: string;
  readonly clientIp: string;
  readonly scheme: "http" | "https";
  readonly method: string;
  readonly protocol: RequestProtocol;
  target: string;
  sandboxTarget: string | undefined;
  host: string;
  readonly upgrade: boolean;
  readonly grpc: GrpcCall | undefined;
  keptBody: KeptBody | undefined;
  /** The protocols that the client may be switched to, in its spelling; empty unless `upgrade`. */
  upgradeOffer: string;
  #headers: readonly HeaderPair[] | undefined;

  /** `wire` must own its bytes. */
  constructor(wire: WireHead, { peer, clientIp, scheme }: Origin, facts: RequestFacts = {}) {
    this.wire = wire;
    this.peer = peer;
    this.clientIp = clientIp;
    this.scheme = scheme;
    this.grpc = facts.grpc;
    this.keptBody = undefined;
    this.protocol = protocolOf(wire, facts);
    this.method = wire.method;
    this.target = wire.path;
    this.host = wire.form === "absolute" ? wire.text(wire.authorityStart, wire.authorityEnd) : wire.host;
    // A server may ignore an upgrade (RFC 9110, 7.8); with a body in between, bytes would be ambiguous. A length of 0 is no body:
    // many clients state it with each POST.
    const isOpen = wire.asksUpgrade && wire.framing === "none";
    this.upgradeOffer = isOpen ? passableProtocols(wire.valueOf("upgrade") ?? "") : "";
    this.upgrade = this.upgradeOffer !== "";
  }

  get bytes(): number {
    const { wire } = this;
    return wire.end - wire.start + wire.fieldCount * fieldOverheadBytes;
  }

  get isLarge(): boolean {
    const { wire } = this;
    return wire.end - wire.start > smallHeadBytes || wire.fieldCount > smallHeadFields;
  }

  get headers(): readonly HeaderPair[] {
    if (this.#headers) return this.#headers;
    const { wire } = this;
    const pairs: HeaderPair[] = [];
    for (let index = 0; index < wire.fieldCount; index += 1) pairs.push([wire.name(index), wire.value(index)]);
    this.#headers = pairs;
    return pairs;
  }

  /**
   * The head was sent to the sandbox, or rejected: a large one is dropped, because a WebSocket may last for hours, and a client
   * may not read its rejection. The access log and a later error response get what they read of it.
   */
  sent(): void {
    if (!this.isLarge) return;
    const { wire, headers } = this;
    const kept: HeaderPair[] = [
      ["accept", ownText(headerValues(headers, "accept").join(",").slice(0, acceptCharactersMax))],
    ];
    for (const name of ["x-sandbox-id", "x-sandbox-namespace", "user-agent"]) {
      kept.push([name, ownText((headerValue(headers, name) ?? "").slice(0, loggedCharactersMax))]);
    }
    this.#headers = kept;
    this.target = ownText(pathOf(this.target).slice(0, loggedCharactersMax));
    if (this.sandboxTarget !== undefined) {
      this.sandboxTarget = ownText(pathOf(this.sandboxTarget).slice(0, loggedCharactersMax));
    }
    this.host = ownText(this.host);
    this.upgradeOffer = ownText(this.upgradeOffer);
    wire.drop();
  }

  /**
   * No other request may follow it on the connection to the sandbox. After an offer to upgrade the protocol there is unknown, and after
   * NTLM the sandbox takes the next client for this one.
   */
  get takesConnection(): boolean {
    return this.upgrade || this.wire.facts.authenticatesConnection;
  }

  /** The client waits for `100 Continue` before it sends the body. HTTP/1.0 has none (RFC 9110, 10.1.1). */
  get expectsContinue(): boolean {
    return this.wire.facts.hasExpect && this.wire.minorVersion === 1 && this.wire.framing !== "none";
  }

  /** The client sent an expectation that the activator does not support. */
  get expectsTheImpossible(): boolean {
    const { facts, minorVersion } = this.wire;
    return facts.hasExpect && minorVersion === 1 && this.wire.valueOf("expect")?.toLowerCase() !== "100-continue";
  }
}

function protocolOf({ minorVersion }: WireHead, { isHttp2, grpc }: RequestFacts): RequestProtocol {
  if (grpc) return grpc.web ? "gRPC-Web" : "gRPC";
  if (isHttp2) return "HTTP/2";
  return minorVersion === 0 ? "HTTP/1.0" : "HTTP/1.1";
}
