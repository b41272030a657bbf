import type { Socket } from "node:net";
import { eventually } from "../eventually.ts";
import { dialled, hear, type ProxyPath } from "../proxy-path.ts";

interface HeardClient {
  readonly client: Socket;
  readonly heard: Promise<string>;
}

/** Clients that send the same, one after the other, each of which leaves something unfinished, until something is shed. */
export async function clientsUntilShed(
  path: ProxyPath,
  sent: string,
  countMax: number,
): Promise<readonly HeardClient[]> {
  const clients: HeardClient[] = [];
  while (clients.length < countMax && path.unfinishedHeads.shed === 0) {
    const before = path.unfinishedHeads.begun;
    const client = await dialled(path.port);
    clients.push({ client, heard: hear(client) });
    client.write(sent);
    await eventually(() => path.unfinishedHeads.begun > before);
  }
  return clients;
}
