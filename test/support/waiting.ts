/** Options for `vi.waitFor`, whose default limit of one second is too short on a busy machine. */
export const waiting = { timeout: 10_000, interval: 20 };
