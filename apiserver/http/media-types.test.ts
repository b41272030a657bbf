import { describe, expect, it } from "vitest";
import { mediaTypeOf, parseBody, readAccept } from "./media-types.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";

describe("the media types that a client accepts", () => {
  it.each([
    undefined,
    "",
    "*/*",
    "application/json",
    "application/*",
    "application/vnd.kubernetes.protobuf, application/json",
  ])("is objects for %j", (accept) => {
    expect(readAccept(accept)).toEqual({ table: false, aggregatedDiscovery: undefined });
  });

  it("is a table if that is the first known type", () => {
    expect(readAccept(`${table},application/json`).table).toBe(true);
    expect(readAccept(`application/json,${table}`).table).toBe(false);
    expect(readAccept("application/json;as=Table;v=v9;g=meta.k8s.io,application/json").table).toBe(false);
  });

  it("is aggregated discovery of the first version that is known", () => {
    const form = (version: string) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
    expect(readAccept(`${form("v2")},${form("v2beta1")},application/json`).aggregatedDiscovery).toBe("v2");
    expect(readAccept(`${form("v2beta1")},application/json`).aggregatedDiscovery).toBe("v2beta1");
  });

  it.each(["text/html", "application/vnd.kubernetes.protobuf", "application/json;as=Movie"])("is not %s", (accept) => {
    expect(() => readAccept(accept)).toThrow("only the following media types are accepted");
  });
});

describe("a body", () => {
  it("is JSON by default, and its parameters are ignored", () => {
    expect(mediaTypeOf(undefined)).toBe("application/json");
    expect(mediaTypeOf("Application/JSON; charset=utf-8")).toBe("application/json");
  });

  it("may be YAML, with few aliases", () => {
    expect(parseBody("application/yaml", Buffer.from("a: [1, two]"))).toEqual({ a: [1, "two"] });
    const level = (name: string, of: string) => `${name}: &${name} [${Array(10).fill(`*${of}`).join(",")}]`;
    const bomb = ["a: &a [x]", level("b", "a"), level("c", "b"), level("d", "c"), level("e", "d")].join("\n");
    expect(() => parseBody("application/yaml", Buffer.from(bomb))).toThrow("alias");
  });

  it("may be empty", () => {
    expect(parseBody("application/json", Buffer.alloc(0))).toBeUndefined();
  });
});
