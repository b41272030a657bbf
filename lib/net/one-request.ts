import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The connections that wait for a response. */
const pendingResponses = new WeakMap<Socket, ServerResponse>();

const pipelined = new WeakSet<IncomingMessage>();

/** A request that notices whether its connection still waits for the response to the one before. */
class NoticedRequest extends IncomingMessage {
  constructor(socket: Socket) {
    super(socket);
    if (!pendingResponses.has(socket)) return;
    pipelined.add(this);
    // Node's parser leaves the rest of a chunk alone after an upgrade, and after nothing else.
    Object.defineProperty(this, "upgrade", { get: () => true, set: () => {} });
  }
}

/** A response that shows whether its request is still in progress. */
class NoticedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  constructor(...given: ConstructorParameters<typeof ServerResponse<Request>>) {
    super(...given);
    const [{ socket }] = given;
    pendingResponses.set(socket, this);
    this.once("close", () => {
      if (pendingResponses.get(socket) === this) pendingResponses.delete(socket);
    });
  }
}

interface OneRequestAtATime {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
  readonly shouldUpgradeCallback: (request: IncomingMessage) => boolean;
}

/**
 * Options of an HTTP or HTTPS server that handles one request of a connection at a time, and upgrades none. A client that
 * sends a request before it has the response to the last one (RFC 9112, section 9.3.2, "pipelining") is disconnected. The
 * RFC lets a server close a connection at any time, and a client that pipelines must be prepared to try again.
 * Kubernetes, Prometheus and browsers do not pipeline.
 *
 * Node sets no such limit. It handles all requests in what it has read, some 2,000 in 64 KiB, before anything else, also
 * when a listener has destroyed the socket. So a request that comes too early passes for an upgrade that has no listener:
 * Node emits no event for it, stops its parser there, and destroys the socket.
 */
export const oneRequestAtATime: OneRequestAtATime = {
  IncomingMessage: NoticedRequest,
  ServerResponse: NoticedResponse,
  shouldUpgradeCallback: (request) => pipelined.has(request),
};
