/** For `vi.waitFor`, whose own limit of a second a busy machine may need for nothing at all. */
export const waiting = { timeout: 10_000, interval: 5 };
