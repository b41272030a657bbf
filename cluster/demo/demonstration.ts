import { join } from "node:path";
import { request } from "undici";
import type { WakeTimeline } from "../../api/between-programs/wake-timeline.ts";
import { stayAlive } from "../../lib/process/stay-alive.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Kubectl } from "../kubectl.ts";
import { release } from "../release/install-chart.ts";
import { waitUntil } from "../wait.ts";
import { findWake } from "./wake-log.ts";

export const examples = join(import.meta.dirname, "..", "..", "examples");
const inRelease = `--namespace=${release.namespace}`;
export const helloHost = "hello.default.sandbox.localhost";

/** The sandbox did not behave as the demonstration expects. The cluster stays up for an investigation. */
export class DemonstrationFailed extends Error {
  override readonly name = "DemonstrationFailed";
}

/** The activators' address on this machine: kube-proxy forwards the Service's address here too. */
export async function activatorUrl(kubectl: Kubectl): Promise<string> {
  const address = "--output=jsonpath={.spec.clusterIP}:{.spec.ports[0].port}";
  return `http://${await kubectl.run(["get", "service", "sandbox-router-svc", inRelease, address])}`;
}

/** Creates the example, suspended, also if an earlier run left it running. */
export async function putHelloToSleep(kubectl: Kubectl): Promise<void> {
  await kubectl.run(["apply", "--namespace=default", "--kustomize", join(examples, "hello")]);
  await kubectl.run(["wait", "sandbox/hello", "--namespace=default", "--for=condition=Suspended", "--timeout=60s"]);
  // For its first ten seconds or so, the API server rejects owner references to objects of a new kind.
  await kubectl.run(["wait", "pvc/data-hello", "--namespace=default", "--for=create", "--timeout=60s"]);
}

const answerWithinMs = 60_000;
const logWithinMs = 5_000;

/**
 * Sends one request to the example, as any client does. The timeline is undefined if no log contains it.
 *
 * @throws DemonstrationFailed
 */
export async function wakeHello(
  kubectl: Kubectl,
  url: string,
  clock: Clock,
): Promise<{ readonly answer: string; readonly timeline: WakeTimeline | undefined }> {
  using _alive = stayAlive();
  const userAgent = `demonstration/${crypto.randomUUID()}`;
  const answer = await askSandbox(kubectl, url, { host: helloHost, userAgent });
  let timeline: WakeTimeline | undefined;
  const isLogged = async () => {
    timeline = findWake(await activatorLog(kubectl), userAgent);
    return timeline !== undefined;
  };
  const complaint = () => "no activator has logged the wake";
  await waitUntil(isLogged, { clock, limitMs: logWithinMs, complaint }).catch(() => {});
  return { answer, timeline };
}

export interface Question {
  readonly host: string;
  readonly userAgent?: string;
}

/**
 * Sends one request to a sandbox, as any client does. Returns the body of a 200 response.
 *
 * @throws DemonstrationFailed
 */
export async function askSandbox(kubectl: Kubectl, url: string, question: Question): Promise<string> {
  const { host, userAgent = "demonstration" } = question;
  const headers = { host, authorization: `Bearer ${await readToken(kubectl)}`, "user-agent": userAgent };
  const [name] = host.split(".");
  const advice = `see \`kubectl describe sandbox ${name}\``;
  const signal = AbortSignal.timeout(answerWithinMs);
  const { statusCode, body } = await request(url, { headers, signal }).catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new DemonstrationFailed(`${name} has not answered: ${why}; ${advice}`, { cause });
  });
  const text = (await body.text()).trim();
  if (statusCode === 200) return text;
  throw new DemonstrationFailed(`${name} has answered ${statusCode}: ${text}; ${advice}`);
}

async function readToken(kubectl: Kubectl): Promise<string> {
  const token = await kubectl.run([
    "get",
    "secret",
    "sandbox-router-token",
    inRelease,
    "--output=jsonpath={.data.token}",
  ]);
  return Buffer.from(token, "base64").toString();
}

/** The recent logs of all replicas; any of them may have proxied the request. */
const activatorLog = (kubectl: Kubectl) =>
  kubectl.run(["logs", "--selector=app=sandbox-router", inRelease, "--since=2m", "--tail=-1", "--ignore-errors"]);
