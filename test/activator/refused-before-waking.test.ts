import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { SubjectAccessReview, TokenReview } from "../../api/kinds/reviews.ts";
import { makeAuthority, makeServerCertificate } from "../../lib/certificates/certificates.ts";
import { interceptCalls } from "../support/fakes/intercepted-client.ts";
import { webBodyOf } from "../support/grpc/web-frames.ts";
import { answerOf, openHttp2Client, valuesOf } from "../support/http2-client.ts";
import { type ActivatorWorld, httpProgram, openActivatorWorld } from "../support/labs/activator-world.ts";
import type { MemoryApi } from "../support/memory-api.ts";

const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
const authority = await makeAuthority("of the tests", validity);
const names = {
  commonName: "here",
  dnsNames: ["nova.default.sandbox.localhost"],
  ipAddresses: ["127.0.0.1"],
  validity,
};
const shown = await makeServerCertificate(authority, names);

const directory = await mkdtemp(join(tmpdir(), "refused-before-waking-"));
afterAll(() => rm(directory, { recursive: true }));
async function file(name: string, text: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}
const pathFlags = ["--path-routing-prefix=/s", "--authz-cookie-name=door", "--authz-cookie-query-param=token"];
const openFlags = [
  "--http2",
  "--https-bind-address=127.0.0.1:0",
  `--tls-cert-file=${await file("tls.crt", shown.certificate)}`,
  `--tls-key-file=${await file("tls.key", shown.key)}`,
];
const tlsFlags = [...openFlags, ...pathFlags];

const key = "0123456789abcdef0123456789abcdef";
function scopedToken(name: string): string {
  const scope = { ns: "default", name, exp: 4_000_000_000 };
  const payload = Buffer.from(JSON.stringify(scope)).toString("base64url");
  const signature = createHmac("sha256", key).update(`agent-sandbox/scoped-token/v1.${payload}`).digest("base64url");
  return `v1.${payload}.${signature}`;
}

/** An API server with two tokens. The owner of `good` may reach every sandbox, the owner of `known` none. */
const reviewing = ({ client }: MemoryApi) =>
  interceptCalls(client, async ({ kind, body }, proceed) => {
    if (kind === "TokenReview") {
      const { token } = (body as TokenReview).spec;
      return { status: { authenticated: token === "good" || token === "known", user: { username: token } } };
    }
    if (kind !== "SubjectAccessReview") return proceed();
    return { status: { allowed: (body as SubjectAccessReview).spec.user === "good" } };
  });

interface Mode {
  readonly mode: string;
  readonly open: () => Promise<ActivatorWorld>;
  readonly good: string;
  /** Each token with the status that its bearer gets; undefined: no token. */
  readonly refused: readonly (readonly [token: string | undefined, status: number])[];
}

const modes: readonly Mode[] = [
  {
    mode: "static-token",
    open: () => openActivatorWorld(tlsFlags, { ROUTER_AUTH_TOKEN: "good" }),
    good: "good",
    refused: [
      [undefined, 401],
      ["wrong", 401],
    ],
  },
  {
    mode: "scoped-token",
    async open() {
      const secret = `--authz-scoped-token-secret-file=${await file("secret", key)}`;
      return openActivatorWorld([...tlsFlags, "--authz-mode=scoped-token", secret]);
    },
    good: scopedToken("nova"),
    refused: [
      [undefined, 401],
      [`${scopedToken("nova")}x`, 401],
      [scopedToken("another"), 403],
    ],
  },
  {
    mode: "tokenreview",
    open() {
      const flags = ["--authz-mode=tokenreview", "--authz-tokenreview-require-token", "--authz-access-review"];
      return openActivatorWorld([...tlsFlags, ...flags], {}, { clientOf: reviewing });
    },
    good: "good",
    refused: [
      [undefined, 401],
      ["wrong", 401],
      ["known", 403],
    ],
  },
];

const ways = [
  ...(["HTTP", "HTTPS", "an offer to upgrade"] as const),
  ...(["HTTP/2", "HTTP/2 over TLS", "a WebSocket over HTTP/2", "gRPC over HTTP/2"] as const),
  ...(["a path", "a path over HTTP/2", "a path with its token in the query"] as const),
  ...(["gRPC-Web", "gRPC-Web over HTTP/2"] as const),
];
type Way = (typeof ways)[number];

/**
 * The program answers a WebSocket with 200: to a client of HTTP/2, that would mean that it speaks it. For gRPC the program would
 * have to speak HTTP/2.
 */
const grantedOf = (way: Way) => (way === "a WebSocket over HTTP/2" || way.startsWith("gRPC") ? 502 : 200);

/** The statuses of gRPC as those of HTTP. */
const ofGrpc = new Map([
  ["16", 401],
  ["7", 403],
  ["14", 502],
]);

const hostOf = (way: Way) => (way.startsWith("a path") ? "door.example" : "nova.default.sandbox.localhost");
const targetOf = (way: Way) => (way.startsWith("a path") ? "/s/default/nova/8888/" : "/");

async function askHttp2({ activator }: ActivatorWorld, way: Way, token: string | undefined): Promise<number> {
  const origin = way === "HTTP/2 over TLS" ? `https://127.0.0.1:${activator.tlsPort}` : activator.proxyPort;
  using client = openHttp2Client(origin, { ca: authority.certificate });
  await once(client.session, "remoteSettings");
  const tunnel = { ":method": "CONNECT", ":protocol": "websocket", ":scheme": "http" };
  const stream = client.open({
    ":authority": hostOf(way),
    ":path": targetOf(way),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(way === "a WebSocket over HTTP/2" && tunnel),
    ...(way === "gRPC over HTTP/2" && { ":method": "POST", "content-type": "application/grpc" }),
    ...(way === "gRPC-Web over HTTP/2" && { ":method": "POST", "content-type": "application/grpc-web" }),
  });
  if (way !== "a WebSocket over HTTP/2") stream.end();
  const { status, trailers, body } = await answerOf(stream);
  if (!way.startsWith("gRPC")) return status;
  expect(status).toBe(200);
  return way.startsWith("gRPC-Web") ? ofWebBody(body) : (ofGrpc.get(valuesOf(trailers, "grpc-status")[0] ?? "") ?? 0);
}

const ofWebBody = (body: string) => ofGrpc.get(webBodyOf(body).trailers?.["grpc-status"] ?? "") ?? 0;

/** The response to a request for the sandbox `nova`. */
function ask(world: ActivatorWorld, way: Way, token: string | undefined): Promise<number | undefined> {
  if (way.includes("HTTP/2")) return askHttp2(world, way, token);
  const { activator } = world;
  const isInQuery = way === "a path with its token in the query";
  const headers = {
    host: hostOf(way),
    ...(token !== undefined && !isInQuery && { authorization: `Bearer ${token}` }),
    ...(way === "an offer to upgrade" && { connection: "Upgrade", upgrade: "websocket" }),
    ...(way === "gRPC-Web" && { "content-type": "application/grpc-web" }),
  };
  const path = isInQuery && token !== undefined ? `${targetOf(way)}?token=${token}` : targetOf(way);
  // A GET with its token in the query would be redirected.
  const method = isInQuery ? "PUT" : way === "gRPC-Web" ? "POST" : "GET";
  const options = { host: "127.0.0.1", method, path, headers, agent: false };
  return new Promise((resolve, reject) => {
    const asked =
      way === "HTTPS"
        ? requestTls({ ...options, port: activator.tlsPort, ca: authority.certificate })
        : requestPlain({ ...options, port: activator.proxyPort });
    asked.on("error", reject).on("response", (response) => {
      if (way !== "gRPC-Web") return resolve(response.resume().statusCode);
      let body = "";
      response
        .on("data", (bytes: Buffer) => (body += bytes.toString("latin1")))
        .on("end", () => resolve(ofWebBody(body)));
    });
    asked.end();
  });
}

/** A world, and the number of connections that its sandbox `nova` has received. */
async function given({ open }: Mode) {
  const world = await open();
  const dialled = { count: 0 };
  const program = httpProgram(
    (_, response) => response.end("here"),
    (server) =>
      server.on("connection", () => {
        dialled.count += 1;
      }),
  );
  return { world, dialled, program };
}

describe.each(modes)("with $mode, a request without access", (mode) => {
  it.each(ways)("by %s is rejected before the sandbox is woken", async (way) => {
    const { world, program } = await given(mode);
    await using _closing = world;
    await world.asleep("nova", program);
    for (const [token, status] of mode.refused) expect([token, await ask(world, way, token)]).toEqual([token, status]);
    expect((await world.sandbox("nova")).spec.operatingMode).toBe("Suspended");
    expect(world.kubelet.made("nova")).toBe(0);
    expect(await ask(world, way, mode.good)).toBe(grantedOf(way));
    expect(world.kubelet.made("nova")).toBe(1);
  });

  it.each(ways)("by %s is rejected before the sandbox is dialled", async (way) => {
    const { world, dialled, program } = await given(mode);
    await using _closing = world;
    await world.awake("nova", program);
    for (const [token, status] of mode.refused) expect([token, await ask(world, way, token)]).toEqual([token, status]);
    expect(dialled.count).toBe(0);
    expect(await ask(world, way, mode.good)).toBe(grantedOf(way));
    expect(dialled.count).toBeGreaterThan(0);
  });
});

it("with allow-all, a request needs no token", async () => {
  await using world = await openActivatorWorld([...openFlags, "--path-routing-prefix=/s"]);
  await world.asleep(
    "nova",
    httpProgram((_, response) => response.end("here")),
  );
  for (const way of ways) expect(await ask(world, way, undefined)).toBe(grantedOf(way));
});
