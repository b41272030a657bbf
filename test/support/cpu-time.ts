/** The CPU time of this thread for the work, in milliseconds. Unlike clock time, it does not grow with the load of the machine. */
export function cpuMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
