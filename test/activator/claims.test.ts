import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { startClaims } from "../../activator/sandbox/claims.ts";
import { startCluster } from "../../activator/sandbox/cluster.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError } from "../../kube/client/errors.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { controlledBy } from "../support/builders/builders.ts";
import { eventually } from "../support/eventually.ts";
import { type ActivatorWorld, httpProgram, openActivatorWorld } from "../support/labs/activator-world.ts";

const namespace = "default";
const says = (text: string) => httpProgram((_, response) => response.end(text));

/** A claim whose status names this sandbox. `truly`: the claim is also the sandbox's owner. */
async function claim({ api }: ActivatorWorld, name: string, sandbox: string, truly = true): Promise<void> {
  const spec = { warmPoolRef: { name: "pool" } };
  const made = await api.client.create(sandboxClaimType, { metadata: { name, namespace }, spec });
  const metadata = { ownerReferences: [controlledBy(made)] };
  if (truly) await api.client.patch(sandboxType, { namespace, name: sandbox }, { type: "merge", body: { metadata } });
  const status = { type: "merge", body: { status: { sandbox: { name: sandbox } } } } as const;
  await api.client.patch(sandboxClaimType, { namespace, name }, status, { subresource: "status" });
}

async function answerOf({ activator }: ActivatorWorld, host: string): Promise<string> {
  const headers = { host: `${host}.${namespace}.sandbox.localhost` };
  return new Promise((resolve, reject) => {
    const asked = request({ port: activator.proxyPort, host: "127.0.0.1", headers, agent: false }, (response) => {
      let body = "";
      response.on("data", (chunk) => (body += chunk));
      response.on("end", () => resolve(response.statusCode === 200 ? body : `${response.statusCode}`));
    });
    asked.once("error", reject).end();
  });
}

describe("the host name of a claim", () => {
  it("resolves to its sandbox, and wakes it", async () => {
    await using world = await openActivatorWorld();
    await world.asleep("warm-1", says("I am warm-1"));
    await claim(world, "task", "warm-1");
    await eventually(async () => (await answerOf(world, "task")) === "I am warm-1");
    expect((await world.sandbox("warm-1")).spec.operatingMode).toBe("Running");
  });

  it("does not resolve to a sandbox of another owner, even if the claim's status names it", async () => {
    await using world = await openActivatorWorld();
    await world.awake("warm-1", says("I am warm-1"));
    await claim(world, "thief", "warm-1", false);
    await claim(world, "task", "warm-1");
    await eventually(async () => (await answerOf(world, "task")) === "I am warm-1");
    expect(await answerOf(world, "thief")).toBe("404");
  });

  it("resolves to a sandbox of the same name first", async () => {
    await using world = await openActivatorWorld();
    await world.awake("warm-1", says("I am warm-1"));
    await world.awake("task", says("I am task"));
    await claim(world, "task", "warm-1");
    await claim(world, "other", "warm-1", false);
    await eventually(async () => (await answerOf(world, "task")) === "I am task");
  });
});

describe("without access to claims", () => {
  it.each([403, 404])(
    "because of a %d, everything else works, and it is known at once that none will come",
    async (code) => {
      await using world = await openActivatorWorld();
      const { client } = world.api;
      const refusing: KubeClient = {
        ...client,
        list: (type, options, signal) =>
          type.kind === "SandboxClaim"
            ? Promise.reject(new ApiError(code, { apiVersion: "v1", kind: "Status", reason: "NotHere" }))
            : client.list(type, options, signal),
      };
      const options = { client: refusing, clock: systemClock, log: silentLogger };
      await using cluster = startCluster(options);
      await using claims = startClaims(options, cluster);
      await eventually(() => claims.settled && cluster.synced);
      expect(claims.sandboxOf(namespace, "task")).toBeUndefined();
    },
  );
});
