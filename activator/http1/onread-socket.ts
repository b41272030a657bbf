import { Socket, type TcpNetConnectOpts } from "node:net";

/**
 * Takes what a socket reads, in buffers that it chooses. `nextBuffer` says where the next bytes go and is asked again
 * after each `take`; `take` gets how many bytes are there now and returns false to stop reading until `resume`.
 */
export interface SocketReader {
  nextBuffer(): Buffer;
  take(length: number): boolean;
}

/** How an accepted socket gets its reader: by its handle, or by the events that every socket has. */
export type Adoption = "handle" | "events";

/** The options with which an outgoing socket reads into the buffers of its reader. */
export function reading(reader: SocketReader): Pick<TcpNetConnectOpts, "onread"> {
  return { onread: { buffer: () => reader.nextBuffer(), callback: (length) => reader.take(length) } };
}

/**
 * Gives a reader to a socket that a server accepted with `pauseOnConnect`, and returns the socket to go on with; the
 * one that was accepted is not to be used again. Reading has begun when it returns.
 *
 * Only outgoing sockets have the `onread` option. What an accepted one has is a handle, and a new socket around that
 * handle has all options; where a Node has other inners than we know, the reader is fed from "data" events, one copy
 * slower and otherwise the same.
 */
export function adoptAccepted(accepted: Socket, reader: SocketReader, by: Adoption = adoptionOf(accepted)): Socket {
  return by === "handle" ? wrapHandle(accepted, reader) : feedFromEvents(accepted, reader);
}

/** What a Node net.Socket has inside, as far as it is used here. */
interface SocketInners {
  _handle: { readonly useUserBuffer: (buffer: Buffer) => void } | null;
  /** The server counts its connections by this: whoever has it when it is destroyed is taken off. */
  _server: unknown;
}

export function adoptionOf(socket: Socket): Adoption {
  return hasInners(socket) ? "handle" : "events";
}

function hasInners(socket: object): socket is SocketInners {
  if (!("_handle" in socket && "_server" in socket)) return false;
  const handle = socket._handle;
  return typeof handle === "object" && handle !== null && "useUserBuffer" in handle;
}

function wrapHandle(accepted: Socket, reader: SocketReader): Socket {
  if (!hasInners(accepted)) throw new TypeError("this socket has no handle to take");
  const options = { handle: accepted._handle, allowHalfOpen: accepted.allowHalfOpen, ...reading(reader) };
  const socket = new Socket(options);
  accepted._handle = null;
  Object.assign(socket, { _server: accepted._server });
  accepted._server = null;
  return socket.resume();
}

function feedFromEvents(accepted: Socket, reader: SocketReader): Socket {
  return accepted
    .on("data", (bytes: Buffer) => {
      let wantsMore = true;
      for (let at = 0; at < bytes.length; ) {
        const length = bytes.copy(reader.nextBuffer(), 0, at);
        wantsMore = reader.take(length);
        at += length;
      }
      if (!wantsMore) accepted.pause();
    })
    .resume();
}
