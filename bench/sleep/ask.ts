import { Agent, request } from "node:http";
import { systemClock } from "../../lib/time/clock.ts";
import type { Activator } from "./world.ts";

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** One request to a sandbox; resolves with the time of its response, by the monotonic clock. */
export function ask({ host, port }: Activator, sandbox: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host, port, agent, headers: { "x-sandbox-id": sandbox } }, (response) => {
      response.resume().once("end", () => {
        if (response.statusCode === 200) resolve(systemClock.ticksMs());
        else reject(new Error(`${sandbox} was answered ${response.statusCode}`));
      });
    });
    outgoing.once("error", reject).end();
  });
}

/** Closes the kept connections. */
export const stopAsking = (): void => agent.destroy();
