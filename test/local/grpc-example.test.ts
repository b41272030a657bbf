import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { EchoClient } from "../support/grpc/echo-service.ts";
import { echoAuthority, echoPlace, type GrpcExample, startGrpcExample } from "../support/grpc/grpc-example.ts";
import { ReflectedClient } from "../support/grpc/reflected-client.ts";
import { messageFrame, webBodyOf } from "../support/grpc/web-frames.ts";

const page = "http://localhost:3000";
let example: GrpcExample;
beforeAll(async () => {
  example = await startGrpcExample(`--grpc-web-origins=${page},https://other.example`);
}, 60_000);
afterAll(() => example[Symbol.asyncDispose]());

/** `meanwhile` is called again and again. */
const untilAsleep = (meanwhile?: () => Promise<unknown>) =>
  expect
    .poll(async () => meanwhile?.().then(example.isAsleep) ?? example.isAsleep(), { timeout: 30_000, interval: 100 })
    .toBe(true);

describe("the example for gRPC", () => {
  it("is neither woken nor kept awake by health checks, and answers them while it is awake", async () => {
    await untilAsleep();
    using client = new ReflectedClient(example.target, echoAuthority);
    expect((await client.check()).code).toBe(13);
    await expect(example.kube.get(podType, echoPlace)).rejects.toThrow("not found");
    expect(await client.list()).toContain("grpc.health.v1.Health"); // wakes it
    expect(await client.check()).toEqual({ code: 0, messages: [{ status: "SERVING" }] });
    await untilAsleep(() => client.check());
  }, 60_000);

  it("lists its services when it is woken by that, describes them, and answers calls in any shape", async () => {
    await untilAsleep();
    using client = new ReflectedClient(example.target, echoAuthority);
    expect(await client.list()).toEqual(["echo.Echo", "grpc.health.v1.Health"]);
    const said = async (name: string, ...texts: readonly string[]) => {
      const sent = texts.map((text) => ({ text }));
      const { code, messages } = await client.call("echo.Echo", name, sent);
      return [code, ...messages.map(({ text }) => String(text).replace(/ \(.*/, ""))];
    };
    expect(await said("Say", "hello")).toEqual([0, "hello"]);
    expect(await said("Count", "beat")).toEqual([0, "beat 1", "beat 2", "beat 3"]);
    expect(await said("Chat", "one", "two")).toEqual([0, "one", "two"]);
  }, 60_000);

  it("is called by web pages that local mode permits, and not woken by the question of a browser", async () => {
    await untilAsleep();
    const url = `http://${example.target}/echo.Echo/Say`;
    const asking = { "access-control-request-method": "POST", "access-control-request-headers": "x-grpc-web" };
    const permitted = async (
      method: string,
      origin: string,
      headers: Readonly<Record<string, string>>,
      body?: Buffer,
    ) => {
      const response = await fetch(url, { method, headers: { origin, ...headers }, ...(body && { body }) });
      const text = Buffer.from(await response.arrayBuffer()).toString("latin1");
      return [response.headers.get("access-control-allow-origin"), text] as const;
    };
    expect((await permitted("OPTIONS", page, asking))[0]).toBe(page);
    // A host that local mode does not allow stays foreign.
    for (const origin of ["http://localhost:3001", "https://other.example"]) {
      expect((await permitted("OPTIONS", origin, asking))[0]).toBe(null);
    }
    expect(await example.isAsleep()).toBe(true);
    const named = { "x-sandbox-id": "echo", "x-sandbox-port": "50051", "content-type": "application/grpc-web" };
    const [origin, answer] = await permitted("POST", page, named, messageFrame("\n\x05hello"));
    expect(origin).toBe(page);
    const { messages, trailers } = webBodyOf(answer);
    expect([messages[0]?.includes("hello"), trailers]).toEqual([true, { "grpc-status": "0" }]);
  }, 60_000);

  it("answers a call of a method that it does not have with UNIMPLEMENTED", async () => {
    using client = new EchoClient(example.target, echoAuthority);
    expect(await client.call("Unary", ["one"])).toMatchObject({ code: 12, details: "no method /test.Echo/Unary" });
  }, 60_000);
});
