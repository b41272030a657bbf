// Where collectors listen on the same machine (OTLP specification).
const collectorDefault = "localhost:4317";

/**
 * Where `OTEL_EXPORTER_OTLP_ENDPOINT` says that the collector is. With a scheme, `http:` is without encryption; without
 * one, `OTEL_EXPORTER_OTLP_INSECURE` says it.
 *
 * @throws Error when it is no address.
 */
export function collectorOf(environment: Readonly<Record<string, string | undefined>>): URL {
  const text = environment["OTEL_EXPORTER_OTLP_ENDPOINT"]?.trim() || collectorDefault;
  const insecure = environment["OTEL_EXPORTER_OTLP_INSECURE"]?.trim().toLowerCase() === "true";
  const address = text.includes("://") ? text : `${insecure ? "http" : "https"}://${text}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || url.hostname === "" || !/^https?:$/.test(url.protocol)) {
    throw new Error(`OTEL_EXPORTER_OTLP_ENDPOINT: "${text}" is not the address of a collector`);
  }
  return url;
}
