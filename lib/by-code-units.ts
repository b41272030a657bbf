/** Sorts texts the same on every machine, whatever its language: an order by locale would differ between two replicas. */
export const byCodeUnits = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
