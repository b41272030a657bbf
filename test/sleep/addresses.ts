let last = 0;

/** A loopback address that nobody else has: test files run in processes of their own. */
export function nextLoopbackAddress(): string {
  last += 1;
  return `127.${30 + (process.pid % 200)}.${(last >> 7) & 255}.${1 + (last & 127)}`;
}
