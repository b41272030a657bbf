import { readFileSync } from "node:fs";
import { Socket } from "node:net";

/** The open sockets of this process, a line each: addresses, who reads, and whether. One that its peer has reset has no remote address. */
export function ownSockets(): readonly string[] {
  const inner: object = process;
  if (!("_getActiveHandles" in inner) || typeof inner._getActiveHandles !== "function") return ["unknown"];
  const handles: unknown = inner._getActiveHandles();
  if (!Array.isArray(handles)) return ["unknown"];
  return handles.filter((handle) => handle instanceof Socket && handle.localPort !== undefined).map(lineOf);
}

function lineOf(socket: Socket): string {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  const handle = "_handle" in socket ? socket._handle : undefined;
  const reading = typeof handle === "object" && handle !== null && "reading" in handle ? handle.reading : "unknown";
  const reader = "reader" in socket && typeof socket.reader === "object" ? socket.reader : undefined;
  const wants = reader && "wantsMore" in reader ? reader.wantsMore : "unknown";
  return [
    `${localAddress}:${localPort} to ${remoteAddress}:${remotePort}`,
    `read ${socket.bytesRead}, wrote ${socket.bytesWritten}, ${socket.writableLength} wait`,
    `reader ${reader?.constructor.name}, wants more ${wants}, reading ${reading}, flowing ${socket.readableFlowing}`,
    `ended ${socket.readableEnded} and ${socket.writableEnded}, destroyed ${socket.destroyed}, corked ${socket.writableCorked}`,
  ].join("; ");
}

/** The connections of this machine in whose kernel queues bytes wait, a line each. Linux only. */
export function kernelQueues(): readonly string[] {
  const [, ...lines] = readFileSync("/proc/net/tcp", "utf8").trim().split("\n");
  return lines.flatMap((line) => {
    const [, local = "", remote = "", , queues = ""] = line.trim().split(/\s+/);
    const [unsent, unread] = queues.split(":").map((hex) => Number.parseInt(hex, 16));
    if (!unsent && !unread) return [];
    return [`${addressOf(local)} to ${addressOf(remote)}: ${unsent} bytes not acknowledged, ${unread} not read`];
  });
}

/** An address of /proc/net/tcp: the bytes of IPv4 in reverse order, and the port. */
function addressOf(hex: string): string {
  const [address = "", port = ""] = hex.split(":");
  const bytes = [...Buffer.from(address, "hex")].toReversed();
  return `${bytes.join(".")}:${Number.parseInt(port, 16)}`;
}
