import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import {
  drainPaths,
  type FencedPod,
  type ObservedAnswer,
  type ObservedRequest,
  type PromiseRequest,
  parseObservedRequest,
  parsePromiseRequest,
  type SandboxActivity,
} from "../../../api/between-programs/drain-protocol.ts";

export interface FakeActivatorTls {
  readonly certificate: string;
  readonly key: string;
  readonly authorities: string;
}

/** The drain listener of an activator without traffic. Its answers are set by the test. */
export interface FakeActivator extends AsyncDisposable {
  readonly port: number;
  /** All calls in order, except those for activity. */
  readonly questions: readonly ("observed" | "promise")[];
  /** Without certificates it does not answer. */
  trust(tls: FakeActivatorTls): void;
  onObserved: (question: ObservedRequest) => ObservedAnswer | Promise<ObservedAnswer>;
  /** Returns the number of requests in flight. */
  onPromise: (question: PromiseRequest) => number | Promise<number>;
  /** Whether it answers. Default: true. */
  answers: boolean;
  /** Its answer to each call for its activity. */
  activities: readonly SandboxActivity[];
  fenced: readonly FencedPod[];
}

export async function startFakeActivator(): Promise<FakeActivator> {
  const questions: ("observed" | "promise")[] = [];
  const server = createServer({ requestCert: true, rejectUnauthorized: true }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (!activator.answers) return void request.destroy();
    const answer = await answerTo(request.url, JSON.parse(Buffer.concat(chunks).toString("utf8")));
    // The answer of an activator of an older release, which cannot send busy probes.
    response.writeHead(answer ? 200 : 404).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  async function answerTo(path: string | undefined, body: unknown): Promise<object | undefined> {
    if (path === drainPaths.activity) {
      return { epoch: "first", cursor: 0, full: true, activities: activator.activities, fenced: activator.fenced };
    }
    const observed = path === drainPaths.observed ? parseObservedRequest(body) : undefined;
    if (observed) {
      questions.push("observed");
      return activator.onObserved(observed);
    }
    const promise = path === drainPaths.promise ? parsePromiseRequest(body) : undefined;
    if (!promise) return undefined;
    questions.push("promise");
    return { inFlight: await activator.onPromise(promise) };
  }

  const activator: FakeActivator = {
    port: (server.address() as AddressInfo).port,
    questions,
    trust: ({ certificate: cert, key, authorities: ca }) => server.setSecureContext({ cert, key, ca }),
    onObserved: () => ({ inFlight: 0 }),
    onPromise: () => 0,
    answers: true,
    activities: [],
    fenced: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return activator;
}
