/**
 * With what Node runs both programs, wherever they run: images, `npm run` and processes of tests and measurements. They keep
 * the garbage of a rush from becoming memory that is never given back (decision 0019).
 */
export const nodeFlags = ["--max-semi-space-size=16", "--heap-growing-percent=70"] as const;
