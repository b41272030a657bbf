/** A time in the format of `metav1.MicroTime`: RFC 3339 with exactly six digits after the second. */
export function toMicroTime(time: Date, microseconds = 0): string {
  return time.toISOString().replace("Z", `${String(microseconds).padStart(3, "0")}Z`);
}

/** Assigns a unique time to each moment: of two in one millisecond, the second is a microsecond later. */
export class MicroTimes {
  #ms = Number.NaN;
  #microseconds = 0;

  of(time: Date): string {
    const ms = time.getTime();
    this.#microseconds = ms === this.#ms ? Math.min(this.#microseconds + 1, 999) : 0;
    this.#ms = ms;
    return toMicroTime(time, this.#microseconds);
  }
}
