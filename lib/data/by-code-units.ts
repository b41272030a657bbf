/** Sorts texts in the same order on every machine: an order by locale would differ between two replicas. */
export const byCodeUnits = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
