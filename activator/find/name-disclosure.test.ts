import { createHmac } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { SubjectAccessReview } from "../../api/kinds/reviews.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { controlledBy } from "../../test/support/builders/builders.ts";
import { eventually } from "../../test/support/eventually.ts";
import { interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { type ActivatorWorld, httpProgram, openActivatorWorld } from "../../test/support/labs/activator-world.ts";
import type { MemoryApi } from "../../test/support/memory-api.ts";

const namespace = "default";
const key = "0123456789abcdef0123456789abcdef";
const directory = await mkdtemp(join(tmpdir(), "name-disclosure-"));
afterAll(() => rm(directory, { recursive: true }));
const secretFile = join(directory, "secret");
await writeFile(secretFile, key);

function scopedToken(name: string): string {
  const payload = Buffer.from(JSON.stringify({ ns: namespace, name, exp: 4_000_000_000 })).toString("base64url");
  const signature = createHmac("sha256", key).update(`agent-sandbox/scoped-token/v1.${payload}`).digest("base64url");
  return `v1.${payload}.${signature}`;
}

/** An API server that gives every user access to the sandbox `mine`, and to no other. */
const reviewing = ({ client }: MemoryApi) =>
  interceptCalls(client, async ({ kind, body }, proceed) => {
    if (kind === "TokenReview") return { status: { authenticated: true, user: { username: "ada" } } };
    if (kind !== "SubjectAccessReview") return proceed();
    return { status: { allowed: (body as SubjectAccessReview).spec.resourceAttributes?.name === "mine" } };
  });

interface Mode {
  readonly mode: string;
  readonly flags: readonly string[];
  readonly clientOf?: typeof reviewing;
}

const modes: readonly Mode[] = [
  { mode: "scoped-token", flags: ["--authz-mode=scoped-token", `--authz-scoped-token-secret-file=${secretFile}`] },
  { mode: "tokenreview", flags: ["--authz-mode=tokenreview", "--authz-access-review"], clientOf: reviewing },
];

/** A world with the sandbox `secret`, and the claim `task` that has it. Time stands still for its activator. */
async function openLab({ flags, clientOf = ({ client }) => client }: Mode) {
  const clock = new FakeClock();
  const world = await openActivatorWorld(flags, {}, { clientOf, clock });
  const { client } = world.api;
  await world.awake(
    "secret",
    httpProgram((_, response) => response.end("here")),
  );
  const spec = { warmPoolRef: { name: "pool" } };
  const claim = await client.create(sandboxClaimType, { metadata: { name: "task", namespace }, spec });
  const metadata = { ownerReferences: [controlledBy(claim)] };
  await client.patch(sandboxType, { namespace, name: "secret" }, { type: "merge", body: { metadata } });
  const status = { type: "merge", body: { status: { sandbox: { name: "secret" } } } } as const;
  await client.patch(sandboxClaimType, { namespace, name: "task" }, status, { subresource: "status" });
  return { world, clock };
}

/** What the bearer of a token for the sandbox `mine` is answered. */
function ask({ activator }: ActivatorWorld, headers: Record<string, string>): Promise<string> {
  const all = { authorization: `Bearer ${scopedToken("mine")}`, ...headers };
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port: activator.proxyPort, headers: all, agent: false }, (response) => {
      response.resume();
      resolve(`${response.statusCode} ${response.headers["x-rouse-reason"]}`);
    })
      .on("error", reject)
      .end();
  });
}

const byDomain = (name: string) => `${name}.${namespace}.sandbox.localhost`;
const byService = (name: string) => `${name}.${namespace}.svc.cluster.local`;
const ways: Readonly<Record<string, (name: string) => Record<string, string>>> = {
  "a header": (name) => ({ "x-sandbox-id": name }),
  "a host": (name) => ({ host: byDomain(name) }),
  "a host, with another port in a header": (name) => ({ host: byDomain(name), "x-sandbox-port": "9" }),
  "a host, with another sandbox in a header": (name) => ({ host: byDomain(name), "x-sandbox-id": "secret" }),
  "the name of a Service": (name) => ({ host: byService(name) }),
};

describe.each(modes)("with $mode, a client without access does not learn whether a sandbox exists", (mode) => {
  it.each(Object.keys(ways))("by %s", async (way) => {
    const { world } = await openLab(mode);
    await using _closing = world;
    const named = ways[way] ?? (() => ({}));
    // A request that waited for what does not exist would have no answer here.
    for (const name of ["secret", "task", "nothing"]) expect(await ask(world, named(name))).toBe("403 Forbidden");
  });

  it("and a client with access waits for a new sandbox", async () => {
    const { world, clock } = await openLab(mode);
    await using _closing = world;
    const beganMs = clock.ticksMs();
    let answer: string | undefined;
    void ask(world, { "x-sandbox-id": "mine" }).then((text) => {
      answer = text;
    });
    await eventually(async () => {
      await clock.advance(100);
      return answer !== undefined;
    });
    expect(clock.ticksMs() - beganMs).toBeGreaterThanOrEqual(500);
    expect(answer).toBe("502 SandboxNotFound");
  });
});

it("a client with access to the name of a Service learns that it is no sandbox's", async () => {
  await using world = await openActivatorWorld();
  expect(await ask(world, { host: byService("router") })).toBe("400 MissingSandboxId");
});
