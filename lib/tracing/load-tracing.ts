import type { Tracing, TracingOptions } from "./start-tracing.ts";

/** Starts to export traces where there is a collector. What that takes is 11 MB of memory, so it is loaded only then. */
export async function loadTracing(
  collector: URL | undefined,
  options: Omit<TracingOptions, "collector">,
): Promise<Tracing | undefined> {
  if (!collector) return undefined;
  const { startTracing } = await import("./start-tracing.ts");
  return startTracing({ collector, ...options });
}
