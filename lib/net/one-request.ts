import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The connections that wait for a response. */
const pendingResponses = new WeakMap<Socket, ServerResponse>();

export const pendingResponseOn = (socket: Socket): ServerResponse | undefined => pendingResponses.get(socket);

const pipelined = new WeakSet<IncomingMessage>();

/** A piece of a body below this number of bytes is small: programs write larger ones, unless it is the last. */
const smallPieceBytes = 512;
/** The maximum small pieces of a body. A chunk is a piece, and so is what one read brings of a body with a length. */
const smallPiecesMax = 1_024;
/** The maximum bytes that are read and dropped, so that their client reads the response. */
export const droppedBytesMax = 8_388_608;

/**
 * A request that notices whether its connection still waits for the response to the one before, and that closes its connection
 * for a body in too many pieces, or for one that goes on after the response.
 */
class NoticedRequest extends IncomingMessage {
  #smallPieces = 0;
  #droppedBytes = 0;
  #isDropped = false;

  constructor(socket: Socket) {
    super(socket);
    if (!pendingResponses.has(socket)) return;
    pipelined.add(this);
    // Node's parser leaves the rest of a chunk alone after an upgrade, and after nothing else.
    Object.defineProperty(this, "upgrade", { get: () => true, set: () => {} });
  }

  /** Node calls it for each piece of the body: for thousands in one turn of the event loop, if these are small. */
  override push(piece: unknown, encoding?: BufferEncoding): boolean {
    if (!(piece instanceof Uint8Array)) return super.push(piece, encoding);
    // Node's parser has lost its connection by then, if the rest of a read comes after its end.
    const socket: Socket | null = this.socket;
    if (!socket || socket.destroyed) return false;
    if (piece.length < smallPieceBytes) this.#smallPieces += 1;
    if (this.#isDropped) this.#droppedBytes += piece.length;
    if (this.#smallPieces > smallPiecesMax || this.#droppedBytes > droppedBytesMax) {
      socket.destroy();
      return false;
    }
    return this.#isDropped || super.push(piece, encoding);
  }

  /** Node calls it after the response to a request whose body nothing has read. Its own version stops calling `push`. */
  _dump(): void {
    this.#isDropped = true;
    this.removeAllListeners("data");
    this.resume();
  }
}

/** Reads the rest of a body and drops it, to a limit: a client that is cut off at once may lose its response. */
export function dropRest(request: IncomingMessage): void {
  if (request instanceof NoticedRequest) request._dump();
  else request.resume();
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
