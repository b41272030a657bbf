import { join } from "node:path";
import type { Hibernation, Sandbox } from "../../api/kinds/sandbox.ts";
import { stayAlive } from "../../lib/process/stay-alive.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Kubectl } from "../kubectl.ts";
import { waitUntil } from "../wait.ts";
import { askSandbox, DemonstrationFailed, examples } from "./demonstration.ts";

const counterHost = "counter.default.sandbox.localhost";
const sandbox = ["sandbox", "counter", "--namespace=default"] as const;

/** What a sandbox said before it slept and after, and what its status said meanwhile. */
export interface KeptMemory {
  readonly before: string;
  readonly asleep: Hibernation;
  readonly after: string;
  readonly wake: NonNullable<Hibernation["lastWake"]>;
}

const startsToCount = /counted to \d\b/;
const limitMs = 60_000;

/**
 * Lets the example of hibernation count, suspends it, and wakes it with one request.
 *
 * @throws DemonstrationFailed if its memory was not kept.
 */
export async function keepMemory(kubectl: Kubectl, url: string, clock: Clock): Promise<KeptMemory> {
  using _alive = stayAlive();
  const ask = () => askSandbox(kubectl, url, { host: counterHost });
  const status = async () => {
    const { status }: Sandbox = JSON.parse(await kubectl.run(["get", ...sandbox, "--output=json"]));
    return status?.hibernation ?? {};
  };
  await kubectl.run(["apply", "--namespace=default", "--kustomize", join(examples, "hibernation")]);
  let before = "";
  const hasCounted = async () => {
    before = await ask();
    return !startsToCount.test(before);
  };
  await waitUntil(hasCounted, { clock, limitMs, complaint: () => `counter does not count: ${before}` });
  await kubectl.run(["patch", ...sandbox, "--type=merge", '--patch={"spec":{"operatingMode":"Suspended"}}']);
  await kubectl.run(["wait", ...sandbox, "--for=condition=Suspended", "--timeout=60s"]);
  const asleep = await status();
  if (asleep.state !== "Hibernated") throw new DemonstrationFailed(`the memory was not kept: ${asleep.message}`);
  const after = await ask();
  let wake: Hibernation["lastWake"];
  const isTold = async () => {
    wake = (await status()).lastWake;
    return wake !== undefined;
  };
  await waitUntil(isTold, { clock, limitMs, complaint: () => "the status does not tell how the sandbox woke" });
  if (wake?.mode !== "Restored") throw new DemonstrationFailed(`the memory was not restored: ${wake?.reason}`);
  return { before, asleep, after, wake };
}
