import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { eventually } from "../../support/eventually.ts";
import { type ActivatorWorld, openActivatorWorld } from "../../support/labs/activator-world.ts";
import { builtProgram } from "./built-program.ts";

const run = promisify(execFile);

interface Failure {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}

/** The cases of gRPC's own client that its server in Go can answer, and that need no TLS and no cloud. */
const cases = [
  ...["empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong", "empty_stream"],
  ...["timeout_on_sleeping_server", "cancel_after_begin", "cancel_after_first_response", "status_code_and_message"],
  ...["special_status_message", "custom_metadata", "unimplemented_method", "unimplemented_service"],
];

let [client, server] = ["", ""];
let world: ActivatorWorld;
let port = 0;

beforeAll(async () => {
  [client, server] = [await builtProgram("grpc-interop-client"), await builtProgram("grpc-interop-server")];
  port = await freePort();
  world = await openActivatorWorld(["--http2"]);
  await world.awake("nova", startServer);
});
afterAll(() => world[Symbol.asyncDispose]());

/** The server of gRPC binds every address, so one runs at a time. */
async function startServer(podIp: string): Promise<AsyncDisposable> {
  const child = spawn(server, [`-port=${port}`, "-use_tls=false"], { stdio: "ignore" });
  await eventually(() => accepts(podIp));
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

/** Whether the port accepts connections on that address. */
function accepts(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

async function freePort(): Promise<number> {
  const listening = createServer().listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port: free } = listening.address() as AddressInfo;
  await new Promise<void>((resolve) => listening.close(() => resolve()));
  return free;
}

/** What the client says of a case; empty: it succeeded. */
async function outcomeOf(name: string, ...more: readonly string[]): Promise<string> {
  const flags = ["-server_host=127.0.0.1", `-server_port=${world.activator.proxyPort}`, "-use_tls=false"];
  const named = `-additional_metadata=x-sandbox-id:nova;x-sandbox-port:${port}`;
  return run(client, [...flags, named, `-test_case=${name}`, ...more], { timeout: 60_000 }).then(
    () => "",
    ({ code, signal, stderr }: Failure) => `exit ${code ?? signal}: ${stderr}`,
  );
}

async function suspend(): Promise<void> {
  const name = { namespace: "default", name: "nova" };
  const body = { spec: { operatingMode: "Suspended" } };
  await world.api.client.patch(sandboxType, name, { type: "merge", body });
  await eventually(async () => {
    const { status } = await world.sandbox("nova");
    return status?.conditions?.some(({ type, status: is }) => type === "Suspended" && is === "True");
  });
}

describe("the client of gRPC's own tests", () => {
  it.each(cases)("finds nothing wrong in %s, whether the sandbox is awake or asleep", async (name) => {
    expect(await outcomeOf(name)).toBe("");
    await suspend();
    expect(await outcomeOf(name)).toBe("");
  });

  it("finds nothing wrong in hundreds of large calls, on one connection and on new ones", async () => {
    const long = ["-soak_per_iteration_max_acceptable_latency_ms=20000", "-soak_overall_timeout_seconds=100"];
    expect(await outcomeOf("rpc_soak", "-soak_iterations=500", ...long)).toBe("");
    expect(await outcomeOf("channel_soak", "-soak_iterations=50", ...long)).toBe("");
  });
});
