/** They limit the memory that garbage occupies after a burst (decision 0019). */
const ofBoth = ["--max-semi-space-size=16", "--heap-growing-percent=70"] as const;

/** An object of a request never lives for long, though V8 may take it for one that does (decision 0083). */
const ofActivator = [...ofBoth, "--no-allocation-site-pretenuring"] as const;

/** The options of Node for a program in images, `npm run`, tests and measurements. `main`: its path from the root. */
export const nodeFlagsOf = (main: string): readonly string[] => (main.startsWith("activator/") ? ofActivator : ofBoth);
