import type { Clock } from "../../lib/time/clock.ts";
import type { Upstream } from "../connect/connector.ts";
import { ClientGone, type Leaver } from "../request.ts";
import { commonBuffer, type SocketReader } from "../socket/wire-socket.ts";
import { ConnectionRefused } from "../tcp-front/connection/refusals.ts";
import { encryptRequest, willEncrypt, willNot } from "./postgres.ts";

/**
 * Asks a sandbox for TLS as its client asked us, because the sandbox reads no ClientHello before. Returns once it has agreed. The
 * connection is closed otherwise.
 *
 * @throws ConnectionRefused if it does not agree within the limit; ClientGone if the client leaves.
 */
export async function askForTls(
  { socket }: Upstream,
  client: Leaver,
  { clock, limitMs }: { readonly clock: Clock; readonly limitMs: number },
): Promise<void> {
  const answer = Promise.withResolvers<void>();
  const unanswered = () => answer.reject(new ConnectionRefused("SandboxTlsUnanswered"));
  using _limit = clock.after(limitMs, unanswered);
  client.onLeave(() => answer.reject(new ClientGone("the client left")));
  if (client.left) answer.reject(new ClientGone("the client left"));
  if (socket.destroyed) unanswered();
  socket.reader = new Answer(answer.resolve, (isNo) => {
    if (isNo) answer.reject(new ConnectionRefused("SandboxWithoutTls"));
    else unanswered();
  });
  socket.write(encryptRequest);
  socket.readOn();
  try {
    await answer.promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    client.onLeave(undefined);
  }
}

/** Reads one byte. More with it is no answer: nothing may follow in clear text. */
class Answer implements SocketReader {
  readonly #agreed: () => void;
  readonly #failed: (isNo: boolean) => void;
  #isRead = false;

  constructor(agreed: () => void, failed: (isNo: boolean) => void) {
    this.#agreed = agreed;
    this.#failed = failed;
  }

  get wantsMore(): boolean {
    return !this.#isRead;
  }

  nextBuffer(): Buffer {
    return commonBuffer;
  }

  take(bytes: Buffer, length: number): void {
    this.#isRead = true;
    if (length === 1 && bytes[0] === willEncrypt) this.#agreed();
    else this.#failed(length === 1 && bytes[0] === willNot);
  }

  ended(): void {
    this.#failed(false);
  }

  drained(): void {}

  writeFailed(): boolean {
    return false;
  }

  closed(): void {
    this.#failed(false);
  }
}
