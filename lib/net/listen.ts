import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { reportUnexpected } from "../guard/guard.ts";
import type { BindAddress } from "./bind-address.ts";

/**
 * Listens, and returns the address: its port differs if 0 was requested. From then on an error of the server is a
 * connection that could not be accepted, for example without a free file descriptor. It is reported, and the server
 * goes on.
 *
 * @throws the system's error: EADDRINUSE, EADDRNOTAVAIL, EACCES.
 */
export async function listen(server: Server, { host, port }: BindAddress): Promise<AddressInfo> {
  server.listen({ port, ...(host !== undefined && { host }) });
  await once(server, "listening");
  server.on("error", (error) => reportUnexpected("accept", error));
  return server.address() as AddressInfo;
}
