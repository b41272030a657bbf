/** The CPU time of this thread for the work, in milliseconds. Unlike clock time, it does not grow with the load of the machine. */
export function cpuMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** The same for work that ends later, and for all else that this thread does meanwhile. */
export async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
