/** Milliseconds that this thread alone worked for it: unlike the time of a clock, they do not grow with the load of the machine. */
export function cpuMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
