const sysResource = 24n;

/**
 * Whether this process, and so the cluster, may lower the OOM score of a process: it has CAP_SYS_RESOURCE. `status` is
 * the text of `/proc/self/status`.
 */
export function mayLowerOomScore(status: string): boolean {
  const [, effective = "0"] = /^CapEff:\s*([0-9a-f]+)$/m.exec(status) ?? [];
  return ((BigInt(`0x${effective}`) >> sysResource) & 1n) === 1n;
}
