/**
 * The options of Node for both programs in images, `npm run`, tests and measurements. They limit the memory that
 * garbage occupies after a burst (decision 0019).
 */
export const nodeFlags = ["--max-semi-space-size=16", "--heap-growing-percent=70"] as const;
