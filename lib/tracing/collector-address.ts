// The collector's default port on the same machine (OTLP specification).
const collectorDefault = "localhost:4317";

/** For the help of flags. */
export const collectorHelp = `OTLP/gRPC to OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, else OTEL_EXPORTER_OTLP_ENDPOINT, else ${collectorDefault}`;

type Environment = Readonly<Record<string, string | undefined>>;

/** The first that is set wins (OTLP specification). */
const collectorVariables = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"] as const;

/** The first set variable with the collector's address; undefined if none is set. */
export const namesCollector = (environment: Environment) =>
  collectorVariables.find((name) => environment[name]?.trim());

/**
 * The collector's address in `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, or else `OTEL_EXPORTER_OTLP_ENDPOINT`. With the
 * scheme `http:` the connection is not encrypted; without a scheme `OTEL_EXPORTER_OTLP_INSECURE` decides.
 *
 * @throws Error when it is malformed.
 */
export function collectorOf(environment: Environment): URL {
  const name = namesCollector(environment) ?? collectorVariables[1];
  const text = environment[name]?.trim() || collectorDefault;
  const insecure = environment["OTEL_EXPORTER_OTLP_INSECURE"]?.trim().toLowerCase() === "true";
  const address = text.includes("://") ? text : `${insecure ? "http" : "https"}://${text}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || url.hostname === "" || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${name}: "${text}" is not the address of a collector`);
  }
  return url;
}
