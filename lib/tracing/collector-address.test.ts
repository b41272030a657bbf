import { describe, expect, it } from "vitest";
import { collectorOf } from "./collector-address.ts";

describe("where the collector is", () => {
  const at = (OTEL_EXPORTER_OTLP_ENDPOINT?: string, OTEL_EXPORTER_OTLP_INSECURE?: string) =>
    collectorOf({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_INSECURE }).href;

  it("is set by the environment, and else on this machine", () => {
    expect(at("http://collector.observability:4317")).toBe("http://collector.observability:4317/");
    expect(at("https://collector:4317", "true")).toBe("https://collector:4317/");
    expect(at("collector:4317", "true")).toBe("http://collector:4317/");
    expect(at("collector:4317")).toBe("https://collector:4317/");
    expect(at()).toBe("https://localhost:4317/");
  });

  it("of traces alone wins", () => {
    const both = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://all:1", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://traces:2" };
    expect(collectorOf(both).href).toBe("http://traces:2/");
    expect(() => collectorOf({ ...both, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "ftp://x" })).toThrow("TRACES_ENDPOINT");
  });

  it.each(["ftp://collector", "http://", "not an address"])("is refused when it is no address: %s", (text) => {
    expect(() => at(text)).toThrow("is not the address of a collector");
  });
});
