import { request } from "node:http";
import { type Sandbox, sandboxType } from "../api/kinds/sandbox.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Clock } from "../lib/time/clock.ts";

const hello = { namespace: "default", name: "hello" } as const;
const asleepWithinMs = 30_000;
const answerWithinMs = 30_000;

/** The sandbox did not behave as the demonstration expects. The message names the next command to run. */
export class DemonstrationFailed extends Error {
  override readonly name = "DemonstrationFailed";
}

/** Waits until `hello` is suspended. Suspends it first if an earlier run left it running. */
export async function putToSleep(client: KubeClient, clock: Clock, signal: AbortSignal): Promise<void> {
  const giveUpAtMs = clock.ticksMs() + asleepWithinMs;
  for (;;) {
    const sandbox = await client.get(sandboxType, hello, signal);
    if (isAsleep(sandbox)) return;
    if (sandbox.spec.operatingMode !== "Suspended") {
      // Without a precondition: what the user creates with this name is part of the demonstration, too.
      await client.patch(sandboxType, hello, { type: "merge", body: { spec: { operatingMode: "Suspended" } } });
    }
    if (clock.ticksMs() > giveUpAtMs) {
      throw new DemonstrationFailed("hello was not suspended; see `kubectl describe sandbox hello`");
    }
    await clock.sleep(20, signal);
  }
}

function isAsleep({ metadata, spec, status }: Sandbox): boolean {
  const suspended = status?.conditions?.find((condition) => condition.type === "Suspended");
  const current = suspended?.observedGeneration === metadata.generation;
  return spec.operatingMode === "Suspended" && current && suspended?.status === "True";
}

/** Sends one request to `hello`, as any client does, and resolves with the text of the response. */
export function visit(activatorPort: number, domain: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(answerWithinMs)]);
    const outgoing = request(
      {
        host: "127.0.0.1",
        port: activatorPort,
        headers: { host: `hello.default.${domain}:${activatorPort}` },
        signal: limit,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString().trim();
          if (response.statusCode === 200) resolve(text);
          else reject(new DemonstrationFailed(`hello answered ${response.statusCode}: ${text}`));
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.on("upgrade", (_, socket) => {
      socket.destroy();
      reject(new DemonstrationFailed("hello switched protocols without a request for an upgrade"));
    });
    outgoing.end();
  });
}
