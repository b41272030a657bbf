/** What went wrong, as a part of a sentence. */
export const explainCause = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
