import { createHmac } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterAll, describe, expect, it } from "vitest";
import { parseActivatorConfig } from "../../../activator/config/config.ts";
import { startActivator } from "../../../activator/start.ts";
import { type Sandbox, sandboxType } from "../../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../../api/kinds/sandbox-claim.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { asTimePasses } from "../../support/as-time-passes.ts";
import { controlledBy } from "../../support/builders/builders.ts";
import { observed } from "../../support/drain-questions.ts";
import { eventually } from "../../support/eventually.ts";
import { withLateLists } from "../../support/fakes/late-lists.ts";
import { startTinyKubelet } from "../../support/fakes/tiny-kubelet.ts";
import { aSandbox, httpProgram } from "../../support/labs/activator-world.ts";
import { openMemoryApi } from "../../support/memory-api.ts";

const namespace = "default";
const flags = [
  ...["--http-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address="],
  ...["--authz-mode=allow-all", "--allow-loopback-pod-ip", "--access-log=false", "--drain-settle=0s"],
];

/** An activator that has just started, and a sandbox `nova` of the claim `task`. Lists of `late` wait until they are released. */
async function openLab(late: "Sandbox" | "Pod" | "SandboxClaim", ...more: readonly string[]) {
  await using opened = new AsyncDisposableStack();
  const { client } = opened.use(await openMemoryApi());
  const kubelet = opened.use(startTinyKubelet(client));
  let reached = 0;
  let mayAnswer: Promise<void> = Promise.resolve();
  kubelet.run(
    "nova",
    httpProgram((_, response) => {
      reached += 1;
      void mayAnswer.then(() => response.end("I am nova"));
    }),
  );
  const spec = { warmPoolRef: { name: "pool" } };
  const claim = await client.create(sandboxClaimType, { metadata: { name: "task", namespace }, spec });
  const nova: Sandbox = aSandbox("nova");
  await client.create(sandboxType, {
    ...nova,
    metadata: { ...nova.metadata, ownerReferences: [controlledBy(claim)] },
  });
  const status = { type: "merge", body: { status: { sandbox: { name: "nova" } } } } as const;
  await client.patch(sandboxClaimType, { namespace, name: "task" }, status, { subresource: "status" });
  await eventually(() => kubelet.made("nova") > 0);

  const slow = withLateLists(client, late);
  const registry = new Registry();
  const parts = { client: slow.client, clock: systemClock, log: silentLogger, registry };
  const activator = opened.use(await startActivator(parseActivatorConfig([...flags, ...more]), parts));
  const closing = opened.move();
  return {
    activator,
    api: { client },
    /** The number of requests that reached `nova`. */
    reached: () => reached,
    /** Until the returned function is called, `nova` answers no request. */
    delayAnswers(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      mayAnswer = promise;
      return resolve;
    },
    /** Creates an awake sandbox. */
    async create(name: string): Promise<void> {
      kubelet.run(
        name,
        httpProgram((_, response) => response.end(`I am ${name}`)),
      );
      await client.create(sandboxType, aSandbox(name));
    },
    letGo: () => slow.listed(),
    held: async () => Number(/^rouse_activator_held_requests (\d+)$/m.exec(await registry.metrics())?.[1]),
    [Symbol.asyncDispose]: async () => {
      slow.listed();
      await closing.disposeAsync();
    },
  };
}

type Lab = Awaited<ReturnType<typeof openLab>>;

/** The response for a host: the body of a success, else the status and the reason. */
function ask(
  { activator }: Pick<Lab, "activator">,
  host: string,
  { timeoutS = 60, signal = new AbortController().signal, token = "", more = {} } = {},
) {
  const headers = { ...more, host, "x-sandbox-timeout": `${timeoutS}`, authorization: `Bearer ${token}` };
  const options = { host: "127.0.0.1", port: activator.proxyPort, headers, agent: false, signal };
  return new Promise<string>((resolve) => {
    request(options, async (response) => {
      let body = "";
      for await (const chunk of response) body += chunk;
      resolve(response.statusCode === 200 ? body : `${response.statusCode} ${response.headers["x-rouse-reason"]}`);
    })
      .on("error", (error) => resolve(error.name))
      .end();
  });
}

const byDomain = (name: string) => `${name}.${namespace}.sandbox.localhost`;
const byService = (name: string) => `${name}.${namespace}.svc.cluster.local`;

describe.each(["Sandbox", "Pod"] as const)("before the first list of kind %s", (kind) => {
  it("a request by headers is held, and is in flight from when its sandbox is known", async () => {
    await using lab = await openLab(kind, "--drain-bind-address=127.0.0.1:0");
    const answer = lab.delayAnswers();
    const headers = { "x-sandbox-id": "nova", "x-sandbox-namespace": namespace };
    const response = fetch(`http://127.0.0.1:${lab.activator.proxyPort}/`, { headers });
    await eventually(async () => (await lab.held()) === 1);
    lab.letGo();
    await eventually(() => lab.reached() === 1);
    expect(await observed(lab)).toMatchObject({ inFlight: 1 });
    answer();
    expect(await (await response).text()).toBe("I am nova");
    await eventually(async () => (await observed(lab)).inFlight === 0);
  });
});

describe("before the first list of sandboxes", () => {
  it("requests by the name of a sandbox, its Service or its claim are held, then proxied", async () => {
    await using lab = await openLab("Sandbox");
    const hosts = [byDomain("nova"), byService("nova"), byDomain("task")];
    const answers = Promise.all(hosts.map((host) => ask(lab, host)));
    await eventually(async () => (await lab.held()) === 3);
    lab.letGo();
    expect(await answers).toEqual(["I am nova", "I am nova", "I am nova"]);
    expect(await lab.held()).toBe(0);
  });

  it("a request is held until its client's timeout at most, and returns its slot", async () => {
    await using lab = await openLab("Sandbox", "--held-max-total=1", "--held-max-per-namespace=1");
    for (const host of [byService("nova"), byDomain("task")]) {
      expect(await ask(lab, host, { timeoutS: 0.2 })).toBe("503 ClusterUnseen");
    }
    expect(await lab.held()).toBe(0);
  });

  it("the number of held requests is limited", async () => {
    await using lab = await openLab("Sandbox", "--held-max-total=1", "--held-max-per-namespace=1");
    const first = ask(lab, byService("nova"));
    await eventually(async () => (await lab.held()) === 1);
    expect(await ask(lab, byService("nova"))).toBe("503 HoldLimitReached");
    lab.letGo();
    expect(await first).toBe("I am nova");
  });

  it("a client that leaves returns its slot", async () => {
    await using lab = await openLab("Sandbox");
    const client = new AbortController();
    const answer = ask(lab, byService("nova"), { signal: client.signal });
    await eventually(async () => (await lab.held()) === 1);
    client.abort();
    expect(await answer).toBe("AbortError");
    await eventually(async () => (await lab.held()) === 0);
  });

  it("held requests are rejected when the activator exits, so that clients retry", async () => {
    await using lab = await openLab("Sandbox", "--shutdown-timeout=0s");
    const answer = ask(lab, byService("nova"));
    await eventually(async () => (await lab.held()) === 1);
    await lab.activator.drain();
    expect(await answer).toBe("503 Draining");
  });
});

it("a replica that cannot list claims is ready after 30 s, and rejects only the names of claims", async () => {
  await using opened = new AsyncDisposableStack();
  const { client } = opened.use(await openMemoryApi());
  const failing: KubeClient = {
    ...client,
    list: (type, options, signal) =>
      type.kind === "SandboxClaim"
        ? Promise.reject(new ApiError(500, { apiVersion: "v1", kind: "Status" }))
        : client.list(type, options, signal),
  };
  const clock = new FakeClock();
  const parts = { client: failing, clock, log: silentLogger, registry: new Registry() };
  const activator = opened.use(await startActivator(parseActivatorConfig(flags), parts));
  const statusOf = async (path: string, init?: RequestInit) => (await fetch(path, init)).status;
  await clock.advance(29_999);
  expect(await statusOf(`${activator.opsUrl}/readyz`)).toBe(503);
  await clock.advance(1);
  await eventually(async () => (await statusOf(`${activator.opsUrl}/readyz`)) === 200);
  let rejected: string | undefined;
  void ask({ activator }, byDomain("task"), { timeoutS: 5 }).then((answer) => {
    rejected = answer;
  });
  await asTimePasses(clock, () => expect(rejected).toBe("503 ClusterUnseen"));
});

describe("before the first list of claims", () => {
  it("requests by a claim's name are held, and those by its sandbox's names are proxied", async () => {
    await using lab = await openLab("SandboxClaim");
    const answer = ask(lab, byDomain("task"));
    await eventually(async () => (await lab.held()) === 1);
    expect(await ask(lab, byDomain("nova"))).toBe("I am nova");
    expect(await ask(lab, byService("nova"))).toBe("I am nova");
    lab.letGo();
    expect(await answer).toBe("I am nova");
  });
});

describe("before the first list of claims, a client with a token for one sandbox", () => {
  const key = "0123456789abcdef0123456789abcdef";
  const tokenFor = (name: string) => {
    const payload = Buffer.from(JSON.stringify({ ns: namespace, name, exp: 4_000_000_000 })).toString("base64url");
    const signature = createHmac("sha256", key).update(`agent-sandbox/scoped-token/v1.${payload}`).digest("base64url");
    return `v1.${payload}.${signature}`;
  };
  let directory: string | undefined;
  afterAll(() => directory && rm(directory, { recursive: true }));
  async function openScopedLab(late: "Sandbox" | "SandboxClaim") {
    directory ??= await mkdtemp(join(tmpdir(), "unseen-cluster-"));
    const file = join(directory, "key");
    await writeFile(file, key);
    const scoped = ["--authz-mode=scoped-token", `--authz-scoped-token-secret-file=${file}`];
    return openLab(late, ...scoped, "--held-max-per-sandbox=1", "--held-max-per-namespace=1");
  }

  it("gets one answer at once for names that exist and names that do not, and takes no slot", async () => {
    await using lab = await openScopedLab("SandboxClaim");
    expect(await ask(lab, byDomain("nova"), { token: tokenFor("nova") })).toBe("I am nova"); // all sandboxes are listed
    for (const host of [byDomain("nova"), byDomain("ghost"), byService("nova")]) {
      expect(await ask(lab, host, { token: tokenFor("mine") })).toBe("503 ClusterUnseen");
    }
    expect(await lab.held()).toBe(0);
    lab.letGo();
    await eventually(async () => (await ask(lab, byDomain("nova"), { token: tokenFor("mine") })) === "403 Forbidden");
  });

  it("takes no slot of a sandbox whose Service it names, also before sandboxes are listed", async () => {
    await using lab = await openScopedLab("Sandbox");
    for (const host of [byService("nova"), byDomain("nova")]) {
      expect(await ask(lab, host, { token: tokenFor("mine") })).toBe("503 ClusterUnseen");
    }
    const own = ask(lab, byService("nova"), { token: tokenFor("nova") });
    await eventually(async () => (await lab.held()) === 1);
    lab.letGo();
    expect(await own).toBe("I am nova");
  });

  it("gets 403 at once for another sandbox that headers name: that is no claim's name", async () => {
    await using lab = await openScopedLab("Sandbox");
    const more = { "x-sandbox-id": "nova" };
    expect(await ask(lab, "127.0.0.1", { token: tokenFor("mine"), more })).toBe("403 Forbidden");
    const own = ask(lab, "127.0.0.1", { token: tokenFor("nova"), more });
    await eventually(async () => (await lab.held()) === 1);
    lab.letGo();
    expect(await own).toBe("I am nova");
  });

  it("is proxied as soon as its sandbox appears", async () => {
    await using lab = await openScopedLab("SandboxClaim");
    const answer = ask(lab, byDomain("later"), { token: tokenFor("later") });
    await eventually(async () => (await lab.held()) === 1);
    await lab.create("later");
    expect(await answer).toBe("I am later");
  });
});
