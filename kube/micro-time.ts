/** A time as `metav1.MicroTime` spells it: RFC 3339 with exactly six digits after the second. */
export function toMicroTime(time: Date): string {
  return time.toISOString().replace("Z", "000Z");
}
