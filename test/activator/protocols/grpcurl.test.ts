import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { echoAuthority, type GrpcExample, startGrpcExample } from "../../support/grpc/grpc-example.ts";
import { builtProgram } from "./built-program.ts";

const run = promisify(execFile);

let grpcurl: string;
let example: GrpcExample;
beforeAll(async () => {
  grpcurl = await builtProgram("grpcurl");
  example = await startGrpcExample();
});
afterAll(() => example[Symbol.asyncDispose]());

const asleep = () => expect.poll(() => example.isAsleep(), { timeout: 60_000 }).toBe(true);

async function ask(flags: readonly string[], ...words: readonly string[]): Promise<string> {
  const args = ["-plaintext", "-authority", echoAuthority, ...flags, example.target, ...words];
  return (await run(grpcurl, args, { timeout: 60_000 })).stdout;
}

describe("grpcurl", () => {
  it("lists the services of a suspended sandbox by reflection, and describes one", async () => {
    await asleep();
    expect(await ask([], "list")).toBe("echo.Echo\ngrpc.health.v1.Health\n");
    expect(await ask([], "describe", "echo.Echo")).toContain(
      "rpc Chat ( stream .echo.Text ) returns ( stream .echo.Text );",
    );
    expect(await ask([], "describe", "grpc.health.v1.HealthCheckResponse")).toContain("SERVING = 1;");
  });

  it("calls a method of a suspended sandbox, with one message or with many", async () => {
    await asleep();
    expect(await ask(["-d", '{"text": "hello"}'], "echo.Echo/Say")).toMatch(
      /"text": "hello \(this process has run for \d+ ms\)"/,
    );
    expect(await ask(["-d", '{"text": "one"} {"text": "two"}'], "echo.Echo/Chat")).toMatch(/"one .*"two /s);
  });
});
