/** A listening TCP socket, from Linux. */
export interface ListeningSocket {
  readonly port: number;
  /** The inode of the socket, as in `/proc/PID/fd`. */
  readonly inode: string;
}

// Columns of /proc/net/tcp and tcp6 (proc_net_tcp in the kernel's documentation): local address, state, inode.
const listening = "0A";
const everyAddress = /^0+$/;

/** The sockets of a `/proc/net/tcp` or `/proc/net/tcp6` text that listen on every address of the machine. */
export function listenersOnEveryAddress(text: string): readonly ListeningSocket[] {
  const found: ListeningSocket[] = [];
  for (const line of text.split("\n")) {
    // The cheap test first: with many connections most lines end here.
    if (!line.includes(` ${listening} `)) continue;
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    const [address = "", port = ""] = local.split(":");
    if (state !== listening || !everyAddress.test(address)) continue;
    found.push({ port: Number.parseInt(port, 16), inode });
  }
  return found;
}
