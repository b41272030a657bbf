import type { Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";

/** How long what a client still sends is read and dropped, after it was told that we close. */
const lingerMs = 2_000;

/**
 * Makes the socket close in the order that lets the last response arrive: first our end, then the client's. Closing
 * both at once while the client still sends makes its kernel throw away what it has not read yet (RFC 9112, 9.6).
 * Node's HTTP server calls `destroySoon` when a response was the last one.
 */
export function lingerOnClose(socket: Socket, clock: Clock): void {
  socket.destroySoon = () => {
    if (socket.destroyed) return;
    if (socket.writable) socket.end();
    if (socket.readableEnded) return void socket.once("finish", () => socket.destroy());
    const timer = clock.after(lingerMs, () => socket.destroy());
    socket.once("close", () => timer.cancel());
    socket.once("end", () => socket.destroy());
    socket.resume();
  };
}
