import { statSync } from "node:fs";
import { get } from "node:http";
import { get as httpsGet } from "node:https";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { podType } from "../../api/kinds/core.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ask, clientOf, LocalMode, type Ready } from "../support/labs/local-mode.ts";

const hello = { namespace: "default", name: "hello" } as const;

async function suspend(client: KubeClient, name = "hello"): Promise<void> {
  const body = { spec: { operatingMode: "Suspended" } };
  await client.patch(sandboxType, { namespace: "default", name }, { type: "merge", body });
  await expect.poll(() => suspended(client, name), { timeout: 10_000 }).toBe("True");
}

async function suspended(client: KubeClient, name: string): Promise<string | undefined> {
  const { metadata, status } = await client.get(sandboxType, { namespace: "default", name });
  const condition = status?.conditions?.find(({ type }) => type === "Suspended");
  return condition?.observedGeneration === metadata.generation ? condition?.status : undefined;
}

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const connects = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

describe("local mode, started with one command", () => {
  let local: LocalMode;
  let ready: Ready;
  let client: KubeClient & AsyncDisposable;

  beforeAll(async () => {
    local = new LocalMode();
    ready = await local.start("--allowed-hosts=other.example, My-Machine.example");
    client = clientOf(ready);
  }, 60_000);

  afterAll(async () => {
    await client[Symbol.asyncDispose]();
    await local[Symbol.asyncDispose]();
  });

  it("wakes hello at its start and prints the timeline in milliseconds", () => {
    expect(local.output).toContain("Two sandboxes are suspended: hello and notebook.");
    expect(local.output).toContain('"Hello from hello. This is visit number 1."');
    const written = "resume written to the API";
    for (const step of ["request seen", written, "Pod created", "port accepts connections", "response begins"]) {
      expect(local.output).toMatch(new RegExp(`${step} +\\d+\\.\\d ms`));
    }
  });

  it("writes its addresses into a ready file, and makes the kubeconfig readable only for its owner", () => {
    expect(ready).toEqual({
      api: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
      kubeconfig: `${local.dataDir}/kubeconfig`,
      activator: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      metrics: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/),
      domain: "sandbox.localhost",
    });
    expect(statSync(ready.kubeconfig).mode & 0o777).toBe(0o600);
  });

  it("requires the kubeconfig's token, and rejects a page of another origin even with it", async () => {
    const status = (headers: Record<string, string>) =>
      new Promise((resolve, reject) => {
        httpsGet(`${ready.api}/api/v1/pods`, { headers, rejectUnauthorized: false, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).on("error", reject);
      });
    expect(await status({})).toBe(401);
    expect(await status({ authorization: "Bearer wrong" })).toBe(401);
    expect(await status({ host: "evil.example" })).toBe(403);
    expect(await status({ origin: "http://evil.example" })).toBe(403);
  });

  it("shows its metrics to no web page that has a host name of its own", async () => {
    const status = (host: string) =>
      new Promise((resolve, reject) => {
        get(ready.metrics, { headers: { host }, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).on("error", reject);
      });
    expect(await status("evil.example")).toBe(403);
    for (const host of [new URL(ready.metrics).host, "localhost"]) expect(await status(host)).toBe(200);
  });

  it("keeps the volume through a manual suspension, and a request of any method wakes the sandbox", async () => {
    const before = JSON.parse((await ask(ready, "hello", "/counter")).body).count;
    await suspend(client);
    await expect(client.get(podType, hello)).rejects.toThrow(/not found/);
    const woken = await ask(ready, "hello", "/counter", { method: "POST" });
    expect(woken).toMatchObject({ status: 200, body: `{"count":${before + 1}}\n` });
  });

  it("wakes for a WebSocket and proxies its messages", async () => {
    await suspend(client);
    const { hostname, port } = new URL(ready.activator);
    const host = `hello.default.${ready.domain}:${port}`;
    const socket = new WebSocket(`ws://${hostname}:${port}/ws`, { headers: { host } });
    const echoed = await new Promise((resolve, reject) => {
      socket.on("open", () => socket.send("still there?"));
      socket.on("message", (data) => resolve(String(data)));
      socket.on("error", reject);
    });
    socket.close();
    expect(echoed).toBe("still there?");
  });

  it("proxies an event stream without delay", async () => {
    const { hostname, port } = new URL(ready.activator);
    const { request } = await import("node:http");
    const first = await new Promise<string>((resolve, reject) => {
      const host = `hello.default.${ready.domain}:${port}`;
      const outgoing = request({ hostname, port, path: "/events", headers: { host } }, (response) => {
        response.once("data", (chunk: Buffer) => {
          outgoing.destroy();
          resolve(chunk.toString());
        });
      });
      outgoing.on("error", reject);
      outgoing.end();
    });
    expect(first).toMatch(/^data: beat 1 at /);
  });

  it("refuses requests and WebSockets of web pages of other origins by the host name of a sandbox", async () => {
    const { hostname, port } = new URL(ready.activator);
    const host = `hello.default.${ready.domain}:${port}`;
    const status = async (origin: string) => (await ask(ready, "hello", "/", { headers: { origin } })).status;
    expect(await status("https://evil.example")).toBe(403);
    expect(await status(`http://${host}`)).toBe(200);
    const options = { headers: { host }, origin: "https://evil.example" };
    const socket = new WebSocket(`ws://${hostname}:${port}/ws`, options);
    const refused = await new Promise((resolve) => {
      socket.on("unexpected-response", (_request, response) => resolve(response.statusCode));
      socket.on("open", () => resolve("open"));
      socket.on("error", () => {});
    });
    socket.terminate();
    expect(refused).toBe(403);
  });

  it("routes by X-Sandbox headers on loopback names, and rejects headers that contradict the host", async () => {
    const headers = { "x-sandbox-id": "hello", "x-sandbox-namespace": "default", "x-sandbox-port": "8888" };
    const { host } = new URL(ready.activator);
    expect(await ask(ready, "any", "/info", { headers: { ...headers, host } })).toMatchObject({ status: 200 });
    expect(await ask(ready, "notebook", "/info", { headers })).toMatchObject({ status: 400 });
  });

  it.each([
    { host: "evil.example:8080", status: 403 },
    { host: "localhost:8080", status: 200 },
    { host: "my-machine.example", status: 200 },
  ])("answers $status to headers that name a sandbox on the host $host", async ({ host, status }) => {
    const headers = { host, "x-sandbox-id": "hello", "x-sandbox-port": "8888", origin: `http://${host}` };
    expect((await ask(ready, "hello", "/counter", { headers })).status).toBe(status);
  });

  it("answers 404 for a sandbox that does not exist", async () => {
    expect(await ask(ready, "nobody", "/")).toMatchObject({ status: 404 });
  });

  it("reports a missing program in the sandbox's status, and answers held requests within seconds", async () => {
    await client.create(sandboxType, {
      metadata: { name: "exotic", namespace: "default" },
      spec: {
        operatingMode: "Suspended",
        podTemplate: { spec: { containers: [{ name: "main", image: "none", command: ["no-such-program"] }] } },
      },
    });
    await expect.poll(() => suspended(client, "exotic"), { timeout: 10_000 }).toBe("True");
    const answer = await ask(ready, "exotic", "/");
    expect(answer.status).toBe(503);
    const sandbox = await client.get(sandboxType, { namespace: "default", name: "exotic" });
    expect(sandbox.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: "PodScheduled",
        status: "False",
        message: expect.stringContaining('"no-such-program"'),
      }),
    );
  });

  it("serves metrics", async () => {
    const text = await (await fetch(ready.metrics)).text();
    expect(text).toContain("sandbox_router_requests_total");
    expect(text).toContain("agent_sandboxes");
  });

  const pidOfHello = async () => JSON.parse((await ask(ready, "hello", "/info")).body).pid;

  it("restores its sandboxes after kill -9, and ends the processes that were left", async () => {
    const pid = await pidOfHello();
    await ask(ready, "hello", "/counter", { method: "POST" });
    const { count } = JSON.parse((await ask(ready, "hello", "/counter")).body);
    await local.end("SIGKILL");
    expect(alive(pid)).toBe(true);

    ready = await local.start("--no-example");
    await expect.poll(() => alive(pid), { timeout: 10_000 }).toBe(false);
    const again = JSON.parse((await ask(ready, "hello", "/counter")).body);
    expect(again.count).toBe(count);
    expect(await pidOfHello()).not.toBe(pid);
  }, 60_000);

  it("leaves no process and no port behind after Ctrl-C", async () => {
    const pid = await pidOfHello();
    expect(alive(pid)).toBe(true);
    // As with npm: the terminal signals each process, and npm passes the signal on.
    process.kill(local.pid, "SIGINT");
    expect(await local.end("SIGINT")).toBe(0);
    expect(alive(pid)).toBe(false);
    expect(await connects(ready.activator)).toBe(false);
    expect(await connects(ready.metrics)).toBe(false);
  }, 60_000);
});

describe("local mode, when it cannot start", () => {
  it("names in one line the flag that changes a port that is in use", async () => {
    await using local = new LocalMode();
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(0, "127.0.0.1", resolve));
    const address = squatter.address();
    const port = typeof address === "object" ? address?.port : 0;
    try {
      expect(await local.run("--ephemeral", "--port=0", `--api-port=${port}`)).toBe(1);
      expect(local.output).toContain(
        `port ${port} for the API server is in use, or this user has no right to it; choose another with --api-port`,
      );
      expect(await local.run("--ephemeral", `--port=${port}`, "--api-port=0")).toBe(1);
      expect(local.output).toContain(
        `port ${port} for the activator is in use, or this user has no right to it; choose another with --port`,
      );
      expect(await local.run("--ephemeral", "--port=0", "--api-port=0", `--by-name-port=${port}`)).toBe(1);
      expect(local.output).toContain(
        `port ${port} for the by-name listener is in use, or this user has no right to it; choose another with --by-name`,
      );
    } finally {
      squatter.close();
    }
  }, 60_000);

  it("answers an unknown flag with the usage and status 2, and --help with the usage and status 0", async () => {
    await using local = new LocalMode();
    expect(await local.run("--no-such-flag")).toBe(2);
    expect(local.output).toContain("unknown flag: --no-such-flag");
    expect(await local.run("--help")).toBe(0);
    expect(local.output).toContain("Usage: npm start --");
  });
});
