import { expect, it } from "vitest";
import { parseLocalConfig } from "./config.ts";

it("origins of gRPC-Web need HTTP/2, and a start without it says so", () => {
  const origins = "--grpc-web-origins=http://localhost:3000";
  expect(() => parseLocalConfig([origins, "--http2=false"])).toThrow("--grpc-web-origins needs --http2");
  expect(parseLocalConfig([origins])).toMatchObject({ webOrigins: "http://localhost:3000" });
});

it("a word that is no flag is refused, as by the other programs", () => {
  expect(() => parseLocalConfig(["--http2", "false"])).toThrow("unexpected argument: false");
});
