import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import type { BindAddress } from "./bind-address.ts";

/**
 * Listens, and returns where: the port is another one where any was asked for.
 *
 * @throws Error as the system says it: EADDRINUSE, EADDRNOTAVAIL, EACCES.
 */
export async function listen(server: Server, { host, port }: BindAddress): Promise<AddressInfo> {
  server.listen({ port, ...(host !== undefined && { host }) });
  await once(server, "listening");
  return server.address() as AddressInfo;
}

/** Rejects when the server fails after it has begun to listen; never resolves. Nobody has to listen to it. */
export function failureOf(server: Server): Promise<never> {
  const failed = new Promise<never>((_, reject) => server.once("error", reject));
  failed.catch(() => {}); // whoever does not race it must not be killed by it
  return failed;
}
