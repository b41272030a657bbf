import { type ClientRequest, request as overHttp, type RequestOptions } from "node:http";
import { request as overHttps } from "node:https";
import { onAbort } from "../guard/on-abort.ts";
import type { Clock, Timer } from "../time/clock.ts";

export interface StatusQuestion {
  /** A literal IP address. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly scheme: "HTTP" | "HTTPS";
  readonly headers: Readonly<Record<string, string>>;
}

export interface AskLimits {
  readonly clock: Clock;
  /** The time limit of dialling and of the response head together, in milliseconds. */
  readonly limitMs: number;
  /** The time limit of dialling alone, in milliseconds; absent: `limitMs`. */
  readonly dialLimitMs?: number;
  readonly signal: AbortSignal;
}

/** The interim responses (1xx) that may precede the response, as with the kubelet's probes. */
const interimMax = 5;

/**
 * The status of a server's response to a GET; undefined if it does not answer in time, or not in HTTP. As with the
 * kubelet's probes, certificates are not verified, redirects are not followed, and the body is not read. The connection
 * is closed when this settles.
 *
 * @throws the reason of the signal, once that is aborted.
 */
export async function askStatus(question: StatusQuestion, limits: AskLimits): Promise<number | undefined> {
  const { signal } = limits;
  signal.throwIfAborted();
  // The limits settle the promise directly: after an unrequested 101, a destroyed request reports no error.
  const answer = Promise.withResolvers<number | undefined>();
  using timers = new AskTimers(limits, () => answer.resolve(undefined));
  using _leaving = onAbort(signal, () => answer.reject(signal.reason));
  let call: ClientRequest | undefined;
  try {
    call = begin(question, timers, answer.resolve);
    return await answer.promise;
  } catch {
    signal.throwIfAborted();
    return undefined; // Node does not send such a path or header
  } finally {
    call?.destroy();
  }
}

class AskTimers implements Disposable {
  readonly #all: Timer;
  readonly #dial: Timer | undefined;

  constructor({ clock, limitMs, dialLimitMs }: AskLimits, over: () => void) {
    this.#all = clock.after(limitMs, over);
    this.#dial = dialLimitMs === undefined || dialLimitMs >= limitMs ? undefined : clock.after(dialLimitMs, over);
  }

  readonly connected = (): void => this.#dial?.cancel();

  [Symbol.dispose](): void {
    this.#all.cancel();
    this.#dial?.cancel();
  }
}

function begin(
  { scheme, ...question }: StatusQuestion,
  { connected }: AskTimers,
  answered: (status: number | undefined) => void,
): ClientRequest {
  const options: RequestOptions = { ...question, agent: false };
  const call = scheme === "HTTPS" ? overHttps({ ...options, rejectUnauthorized: false }) : overHttp(options);
  call.once("socket", (socket) => socket.once("connect", connected));
  call.on("response", (response) => {
    response.destroy(); // only the status is needed
    answered(response.statusCode);
  });
  let interim = 0;
  call.on("information", () => {
    interim += 1;
    if (interim > interimMax) answered(undefined); // a server could keep this process busy with them
  });
  call.on("error", () => answered(undefined));
  // After an unrequested 101, Node closes the connection and reports no error.
  call.on("close", () => answered(undefined));
  return call.end();
}
