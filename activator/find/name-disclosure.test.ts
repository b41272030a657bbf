import { createHmac } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
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
  readonly env?: Readonly<Record<string, string>>;
  readonly clientOf?: typeof reviewing;
}

const modes: readonly Mode[] = [
  { mode: "scoped-token", flags: ["--authz-mode=scoped-token", `--authz-scoped-token-secret-file=${secretFile}`] },
  { mode: "tokenreview", flags: ["--authz-mode=tokenreview", "--authz-access-review"], clientOf: reviewing },
];

/** Here a stranger has no token at all: the only one opens every sandbox. */
const staticToken: Mode = { mode: "static-token", flags: [], env: { ROUTER_AUTH_TOKEN: "of the operator" } };

/** A world with the sandbox `secret`, and the claim `task` that has it. Time stands still for its activator. */
async function openLab({ flags, env = {}, clientOf = ({ client }) => client }: Mode) {
  const clock = new FakeClock();
  const world = await openActivatorWorld(flags, env, { clientOf, clock });
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

type Headers = Readonly<Record<string, string>>;

const bearer: Headers = { authorization: `Bearer ${scopedToken("mine")}` };

function answerTo({ activator }: ActivatorWorld, headers: Headers, path = "/"): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port: activator.proxyPort, path, headers, agent: false }, (response) => {
      response.resume();
      resolve(response);
    })
      .on("error", reject)
      .end();
  });
}

/** What the bearer of a token for the sandbox `mine` is answered. */
async function ask(world: ActivatorWorld, headers: Headers): Promise<string> {
  const response = await answerTo(world, { ...bearer, ...headers });
  return `${response.statusCode} ${response.headers["x-rouse-reason"]}`;
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

const hosts: readonly ((name: string) => string)[] = [
  byDomain,
  (name) => `8888--${name}--${namespace}.sandbox.localhost`,
  byService,
  (name) => `${byService(name)}.:8080`,
  (name) => `${name}.${namespace}.svc`,
  (name) => `${name}.${namespace}`,
  (name) => name,
  () => "127.0.0.1",
  () => byService("sandbox-router-svc"),
];
const sent: readonly ((name: string) => Headers)[] = [
  () => ({}),
  (name) => ({ "x-sandbox-id": name }),
  () => ({ "x-sandbox-id": "mine" }),
  () => ({ "x-sandbox-port": "9" }),
  () => ({ "x-sandbox-namespace": "-" }),
];

/** Status and headers of the answers to every form of host, headers and path. */
async function answersAbout(world: ActivatorWorld, name: string, credentials: Headers): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const host of hosts)
    for (const headers of sent)
      for (const path of ["/", "/healthz"]) {
        const all = { ...credentials, ...headers(name), host: host(name) };
        const { statusCode, headers: answered } = await answerTo(world, all, path);
        const { date: _, ...shown } = answered;
        const asked = `${host("NAME")} ${JSON.stringify(headers("NAME"))} ${path}`;
        answers.push(`${asked}: ${statusCode} ${JSON.stringify(shown)}`);
      }
  return answers;
}

describe.each([
  { client: "without a token", credentials: {}, among: [staticToken, ...modes] },
  { client: "with a token for another sandbox", credentials: bearer, among: modes },
])("a client $client", ({ credentials, among }) => {
  it.each(among)("gets the same answers whether or not a sandbox exists ($mode)", async (mode) => {
    const { world } = await openLab(mode);
    await using _closing = world;
    await world.awake(
      "mine",
      httpProgram((_, response) => response.end("mine")),
    );
    const aboutNothing = await answersAbout(world, "nothing", credentials);
    expect(await answersAbout(world, "secret", credentials)).toEqual(aboutNothing);
    expect(await answersAbout(world, "task", credentials)).toEqual(aboutNothing);
  });
});

describe("the activator's own health page", () => {
  it.each([
    ["127.0.0.1:8080", 200],
    [byService("sandbox-router-svc"), 200],
    [byService("gate"), 200],
    [byService("router"), 401],
    [byDomain("gate"), 401],
  ])("at %s is answered with %d", async (host, status) => {
    const flags = ["--service-names=sandbox-router-svc,gate"];
    await using world = await openActivatorWorld(flags, staticToken.env);
    expect((await answerTo(world, { host }, "/healthz")).statusCode).toBe(status);
  });
});

it("a client with access to the name of a Service learns that there is no such sandbox", async () => {
  await using world = await openActivatorWorld();
  expect(await ask(world, { host: byService("router") })).toBe("404 UnknownHost");
});
