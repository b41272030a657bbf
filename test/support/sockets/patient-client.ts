import { commonBuffer, newSocket } from "../../../activator/socket/wire-socket.ts";

/** All bytes that a client is sent until its connection is closed, also those that it reads after its own write has failed. */
export function sayPatiently(port: number, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = newSocket();
  let heard = "";
  socket.reader = {
    wantsMore: true,
    nextBuffer: () => commonBuffer,
    take(bytes, length) {
      heard += bytes.toString("latin1", 0, length);
    },
    ended: () => void socket.end(),
    drained() {},
    writeFailed: () => true,
    closed: () => resolve(heard),
  };
  socket.connect({ port, host: "127.0.0.1" });
  socket.write(text, "latin1");
  socket.readOn();
  return promise;
}
