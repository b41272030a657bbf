let last = 0;

/** A loopback address that no other test uses: it depends on the process id, and each test file has its own process. */
export function nextLoopbackAddress(): string {
  last += 1;
  return `127.${30 + (process.pid % 200)}.${(last >> 7) & 255}.${1 + (last & 127)}`;
}
