import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { EchoClient } from "../support/grpc/echo-service.ts";
import { echoAuthority, echoPlace, type GrpcExample, startGrpcExample } from "../support/grpc/grpc-example.ts";
import { ReflectedClient } from "../support/grpc/reflected-client.ts";

let example: GrpcExample;
beforeAll(async () => {
  example = await startGrpcExample();
}, 60_000);
afterAll(() => example[Symbol.asyncDispose]());

/** `meanwhile` is called again and again. */
const untilAsleep = (meanwhile?: () => Promise<unknown>) =>
  expect.poll(async () => meanwhile?.().then(example.isAsleep) ?? example.isAsleep(), { timeout: 30_000 }).toBe(true);

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

  it("answers a call of a method that it does not have with UNIMPLEMENTED", async () => {
    using client = new EchoClient(example.target, echoAuthority);
    expect(await client.call("Unary", ["one"])).toMatchObject({ code: 12, details: "no method /test.Echo/Unary" });
  }, 60_000);
});
