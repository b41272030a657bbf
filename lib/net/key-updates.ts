/** How many KeyUpdate messages a client may send at once. An honest one needs the first after hundreds of gigabytes. */
const updatesAtOnce = 32;
const updatesPerSecond = 1;

const label = "CLIENT_TRAFFIC_SECRET_";
/** The first secret belongs to the handshake; each later one to a KeyUpdate. OpenSSL calls them all "N". */
const firstNumber = "0".charCodeAt(0);

/** Whether a line of the key log is about a KeyUpdate that the client has sent. The line holds a secret: nothing may keep it. */
export const isClientKeyUpdate = (line: Buffer): boolean =>
  line[label.length] !== firstNumber && line.toString("latin1", 0, label.length) === label;

/** The KeyUpdate messages of one connection: a bucket of permits. */
export class KeyUpdateBucket {
  #permits = updatesAtOnce;
  #atMs = 0;

  /** False: one too many. */
  take(nowMs: number): boolean {
    const gained = ((nowMs - this.#atMs) / 1_000) * updatesPerSecond;
    this.#permits = Math.min(updatesAtOnce, this.#permits + gained);
    this.#atMs = nowMs;
    if (this.#permits < 1) return false;
    this.#permits -= 1;
    return true;
  }
}
