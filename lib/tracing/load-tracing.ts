import type { Tracing, TracingOptions } from "./start-tracing.ts";

/**
 * Starts the export of traces if a collector is configured. The packages take 11 MB of memory, so they are loaded only
 * then.
 */
export async function loadTracing(
  collector: URL | undefined,
  options: Omit<TracingOptions, "collector">,
): Promise<Tracing | undefined> {
  if (!collector) return undefined;
  const { startTracing } = await import("./start-tracing.ts");
  return startTracing({ collector, ...options });
}
