import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as requestTls } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { PathSessions } from "../../../activator/authorize/path-session.ts";
import type { SubjectAccessReview, TokenReview } from "../../../api/kinds/reviews.ts";
import { makeAuthority, makeServerCertificate } from "../../../lib/certificates/certificates.ts";
import { createLogger } from "../../../lib/log/log.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { interceptCalls } from "../../support/fakes/intercepted-client.ts";
import { openHttp2Client } from "../../support/http2-client.ts";
import {
  type ActivatorWorld,
  type ActivatorWorldParts,
  httpProgram,
  openActivatorWorld,
  rawConnection,
} from "../../support/labs/activator-world.ts";
import type { MemoryApi } from "../../support/memory-api.ts";

const directory = await mkdtemp(join(tmpdir(), "browser-sessions-"));
afterAll(() => rm(directory, { recursive: true }));
const key = "0123456789abcdef0123456789abcdef";
await writeFile(join(directory, "key"), key);

function scopedToken(name: string): string {
  const payload = Buffer.from(JSON.stringify({ ns: "default", name, exp: 4_000_000_000 })).toString("base64url");
  const signature = createHmac("sha256", key).update(`agent-sandbox/scoped-token/v1.${payload}`).digest("base64url");
  return `v1.${payload}.${signature}`;
}

/** The reviews that the API server was asked for. */
const reviews: string[] = [];
const reviewing = ({ client }: MemoryApi) =>
  interceptCalls(client, async ({ kind, body }, proceed) => {
    if (kind === "TokenReview") {
      const { token } = (body as TokenReview).spec;
      reviews.push(token);
      return { status: { authenticated: token === "good", user: { username: token } } };
    }
    if (kind !== "SubjectAccessReview") return proceed();
    return { status: { allowed: (body as SubjectAccessReview).spec.resourceAttributes?.name === "nova" } };
  });

const flags = ["--http2", "--path-routing-prefix=/s", "--authz-cookie-name=door", "--authz-cookie-query-param=token"];

interface Mode {
  readonly mode: string;
  readonly good: string;
  readonly open: (more?: readonly string[], parts?: ActivatorWorldParts) => Promise<ActivatorWorld>;
}

const modes: readonly Mode[] = [
  {
    mode: "static-token",
    good: "g+o=d",
    open: (more = [], parts = {}) => openActivatorWorld([...flags, ...more], { ROUTER_AUTH_TOKEN: "g+o=d" }, parts),
  },
  {
    mode: "scoped-token",
    good: scopedToken("nova"),
    open: (more = [], parts = {}) => {
      const secret = `--authz-scoped-token-secret-file=${join(directory, "key")}`;
      return openActivatorWorld([...flags, "--authz-mode=scoped-token", secret, ...more], {}, parts);
    },
  },
  {
    mode: "tokenreview",
    good: "good",
    open: (more = [], parts = {}) => {
      const reviewed = ["--authz-mode=tokenreview", "--authz-tokenreview-require-token", "--authz-access-review"];
      return openActivatorWorld([...flags, ...reviewed, ...more], {}, { ...parts, clientOf: reviewing });
    },
  },
];
const [staticMode, , reviewMode] = modes as [Mode, Mode, Mode];

/** It answers with what it has seen, and tries to set the activator's cookie. */
const program = (name: string) =>
  httpProgram((request, response) => {
    response.setHeader("Set-Cookie", ["door=mine; Path=/", "own=1; Path=/"]);
    response.end(JSON.stringify({ name, method: request.method, target: request.url, headers: request.headers }));
  });

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly field: (name: string) => string | undefined;
}

async function ask({ activator }: ActivatorWorld, line: string, ...fields: readonly string[]): Promise<Answer> {
  using client = await rawConnection(activator);
  const host = fields.some((field) => field.startsWith("Host: ")) ? [] : ["Host: Door.Example:80"];
  client.send(`${[`${line} HTTP/1.1`, ...host, "Connection: close", ...fields].join("\r\n")}\r\n\r\n`);
  const [head = "", body = ""] = (await client.closed()).split("\r\n\r\n");
  const field = (name: string) => new RegExp(`^${name}: (.*)\r?$`, "im").exec(head)?.[1];
  return { status: Number(head.split(" ")[1]), body, field };
}

/** The cookie that a browser gets for its token. */
async function cookieOf(world: ActivatorWorld, token: string): Promise<string> {
  const { field } = await ask(world, `GET /s/default/nova/8888/?token=${encodeURIComponent(token)}`);
  return field("set-cookie")?.split(";", 1)[0] ?? "";
}

describe.each(modes)("with $mode, a browser", ({ good, open }) => {
  const token = encodeURIComponent(good);

  it("exchanges the token of a link for a cookie, and the sandbox sees neither and sleeps on", async () => {
    await using world = await open();
    await world.asleep("nova", program("nova"));
    const target = `/s/default/nova/8888/a%2Fb?x=%20&to%6Ben=${token}&&y`;
    for (const method of ["GET", "HEAD"]) {
      const { status, field, body } = await ask(world, `${method} ${target}`);
      expect([status, body]).toEqual([302, ""]);
      expect(field("location")).toBe("/s/default/nova/8888/a%2Fb?x=%20&&y");
      expect(field("cache-control")).toBe("no-store");
      expect(field("set-cookie")).toMatch(
        /^door=[^;,\s]+; Path=\/s\/default\/nova\/8888\/; HttpOnly; Secure; SameSite=Lax$/,
      );
    }
    expect(world.kubelet.made("nova")).toBe(0);
    const cookie = await cookieOf(world, good);
    const inside = await ask(
      world,
      "GET /s/default/nova/8888/a?x",
      `Cookie: one=1; ${cookie}; two="; 2"`,
      "Cookie: door=x",
    );
    expect(JSON.parse(inside.body)).toMatchObject({ name: "nova", target: "/a?x" });
    expect(JSON.parse(inside.body).headers.cookie).toBe('one=1; two="; 2"');
    expect(inside.body).not.toContain(good);
    const alone = await ask(world, "GET /s/default/nova/8888/", `Cookie: ${cookie}`);
    expect(JSON.parse(alone.body).headers).not.toHaveProperty("cookie");
    expect(inside.field("set-cookie")).toBe("own=1; Path=/s/default/nova/8888/");
  });

  it("does the same over HTTP/2", async () => {
    await using world = await open();
    await world.awake("nova", program("nova"));
    using client = openHttp2Client(world.activator.proxyPort);
    const entry = { ":path": `/s/default/nova/8888?token=${token}`, ":authority": "door.example" };
    const { status, fields } = await client.ask(entry);
    expect(status).toBe(302);
    expect(fields[fields.indexOf("location") + 1]).toBe("/s/default/nova/8888/");
    const [cookie = ""] = fields[fields.indexOf("set-cookie") + 1]?.split(";", 1) ?? [];
    const headers = { ":path": "/s/default/nova/8888/", ":authority": "door.example" };
    const inside = await client.ask({ ...headers, cookie: ["one=1", cookie, "two=2"] });
    expect(JSON.parse(inside.body).headers.cookie).toBe("one=1; two=2");
  });

  it("that does not follow redirects, is served with the token of its query", async () => {
    await using world = await open();
    await world.awake("nova", program("nova"));
    const json = ["Content-Type: application/json", "Content-Length: 0"];
    const posted = await ask(world, `POST /s/default/nova/8888/?token=${token}&x=1`, ...json);
    expect(JSON.parse(posted.body)).toMatchObject({ method: "POST", target: "/?x=1" });
    // A Referer is any text.
    const page = `http://door.example/s/default/nova/8888/?x=1&to%6ben=${token}`;
    const cookie = await cookieOf(world, good);
    const later = await ask(world, "GET /s/default/nova/8888/a.js", `Cookie: ${cookie}`, `REFERER: ${page}`);
    expect(JSON.parse(later.body).headers.referer).toBe("http://door.example/s/default/nova/8888/?x=1");
    using client = openHttp2Client(world.activator.proxyPort);
    const headers = { ":path": "/s/default/nova/8888/a.js", ":authority": "door.example" };
    const overHttp2 = await client.ask({ ...headers, cookie, referer: page });
    expect(JSON.parse(overHttp2.body).headers.referer).toBe("http://door.example/s/default/nova/8888/?x=1");
    const offer = await ask(world, `GET /s/default/nova/8888/?token=${token}`, "Connection: Upgrade", "Upgrade: tcp");
    expect(offer.status).toBe(200);
  });

  it.each(["%0d%0aSet-Cookie:+x=1", "%0aX-A:1", ";+Path=/", "%00", '"', "%20", "%5c", "%80", "%e2%82%ac"])(
    "gets no cookie and no field for a token with other characters in it: %s",
    async (text) => {
      await using world = await open();
      await world.asleep("nova", program("nova"));
      for (const value of [`${token}${text}`, `${token.slice(0, -2)}${text}${token.slice(-2)}`, `${text}${token}`]) {
        const { status, field } = await ask(world, `GET /s/default/nova/8888/?token=${value}`);
        expect([value, status, field("set-cookie"), field("x-a")]).toEqual([value, 401, undefined, undefined]);
      }
      expect(world.kubelet.made("nova")).toBe(0);
    },
  );

  it("with a token or cookie for one sandbox opens no other", async () => {
    await using world = await open();
    await world.awake("nova", program("nova"));
    await world.asleep("other", program("other"));
    const cookie = await cookieOf(world, good);
    const statuses = [
      await ask(world, "GET /s/default/nova/8888/?token=wrong", `Cookie: ${cookie}`),
      await ask(world, "GET /s/default/nova/8888/", `Cookie: ${cookie}`),
      await ask(world, "GET /s/default/nova/8888/", "Cookie: door=wrong"),
      await ask(world, "GET /s/default/nova/8888/", `Cookie: ${cookie}x`),
      await ask(world, "GET /s/default/nova/8888/", "Authorization: Basic x", `Cookie: ${cookie}`),
      await ask(world, "GET /s/default/other/8888/", `Cookie: ${cookie}`),
      await ask(world, "GET /", "X-Sandbox-ID: nova", `Cookie: ${cookie}`),
      await ask(world, `GET /?token=${token}`, "X-Sandbox-ID: nova"),
    ].map(({ status }) => status);
    expect(statuses).toEqual([401, 200, 401, 401, 401, 403, 401, 401]);
    expect(world.kubelet.made("other")).toBe(0);
  });
});

describe("with a cookie, a page", () => {
  const pages = [
    ...([
      ["http://door.example", 200],
      ["http://DOOR.example:80", 200],
      ["https://app.example", 200],
    ] as const),
    ...([
      ["https://door.example", 403],
      ["http://evil.example", 403],
      ["null", 403],
    ] as const),
    ...([
      ["http://door.example.evil", 403],
      ["http://door.example:8080", 403],
      ["", 403],
    ] as const),
  ];

  it.each(pages)("of the origin %j gets %i, before the token is reviewed", async (origin, expected) => {
    await using world = await reviewMode.open(["--authz-cookie-allowed-origins=https://App.example:443"]);
    await world.awake("nova", program("nova"));
    reviews.length = 0;
    const { status, field } = await ask(
      world,
      "POST /s/default/nova/8888/",
      "Cookie: door=good",
      `Origin: ${origin}`,
      "Content-Length: 0",
    );
    expect([status, field("x-rouse-reason")]).toEqual([expected, expected === 403 ? "ForeignOrigin" : undefined]);
    expect(reviews).toEqual(expected === 403 ? [] : ["good"]);
    // A program that has the token is no page.
    const fields = ["Authorization: Bearer good", `Origin: ${origin}`, "Content-Length: 0"];
    expect((await ask(world, "POST /s/default/nova/8888/", ...fields)).status).toBe(200);
  });

  it("has the scheme of its connection, over HTTP/1.1 and HTTP/2", async () => {
    const validity = { notBefore: new Date("2026-01-01"), notAfter: new Date("2099-01-01") };
    const authority = await makeAuthority("of the tests", validity);
    const names = { commonName: "here", dnsNames: ["door.example"], ipAddresses: ["127.0.0.1"], validity };
    const shown = await makeServerCertificate(authority, names);
    const files = { "tls-cert-file": shown.certificate, "tls-key-file": shown.key };
    const tls = Object.entries(files).map(([name, text]) => {
      writeFileSync(join(directory, name), text);
      return `--${name}=${join(directory, name)}`;
    });
    await using world = await reviewMode.open(["--https-bind-address=127.0.0.1:0", ...tls]);
    await world.awake("nova", program("nova"));
    const url = `https://127.0.0.1:${world.activator.tlsPort}`;
    using client = openHttp2Client(url, { ca: authority.certificate });
    const path = "/s/default/nova/8888/";
    for (const [origin, expected] of [
      ["https://door.example", 200],
      ["http://door.example", 403],
    ] as const) {
      const fields = { ":path": path, ":authority": "door.example", cookie: "door=good", origin };
      expect((await client.ask(fields)).status).toBe(expected);
      const status = await new Promise((resolve, reject) => {
        const headers = { host: "door.example", cookie: "door=good", origin };
        requestTls(`${url}${path}`, { headers, ca: authority.certificate, agent: false })
          .on("response", (response) => resolve(response.resume().statusCode))
          .on("error", reject)
          .end();
      });
      expect(status).toBe(expected);
    }
  });

  it("has the scheme that a trusted gateway states", async () => {
    const fields = [
      "Host: door.example",
      "Cookie: door=good",
      "Origin: https://door.example",
      "X-Forwarded-Proto: https, http",
    ];
    for (const [more, expected] of [
      [["--authz-trust-forwarded-proto"], 200],
      [[], 403],
    ] as const) {
      await using world = await reviewMode.open(more);
      await world.awake("nova", program("nova"));
      expect((await ask(world, "GET /s/default/nova/8888/", ...fields)).status).toBe(expected);
    }
  });
});

it("the cookie of a static token opens one port of one sandbox", async () => {
  await using world = await staticMode.open();
  await world.awake("nova", program("nova"));
  const cookie = await cookieOf(world, staticMode.good);
  expect(cookie).not.toContain(staticMode.good);
  expect((await ask(world, "GET /s/default/nova/8889/", `Cookie: ${cookie}`)).status).toBe(403);
  expect((await ask(world, "GET /s/default/nova/8888/", `Cookie: ${cookie}`)).status).toBe(200);
  const foreign = new PathSessions("another token", new FakeClock()).open({
    namespace: "default",
    name: "nova",
    port: 8888,
  });
  expect((await ask(world, "GET /s/default/nova/8888/", `Cookie: door=${foreign}`)).status).toBe(401);
});

it("a session ends after twelve hours", async () => {
  const clock = new FakeClock("2026-01-01T00:00:00Z");
  const sessions = new PathSessions("token", clock);
  const opened = { namespace: "default", name: "nova", port: 8888 };
  const text = sessions.open(opened);
  await clock.advance(12 * 3_600_000 - 1);
  expect(sessions.read(text)).toMatchObject(opened);
  await clock.advance(1);
  expect(sessions.read(text)).toBeUndefined();
});

it("cookies are for plain HTTP too with --authz-cookie-insecure, and of the SameSite that is set", async () => {
  await using world = await staticMode.open(["--authz-cookie-insecure", "--authz-cookie-samesite=strict"]);
  await world.awake("nova", program("nova"));
  const { field } = await ask(world, `GET /s/default/nova/8888/?token=${encodeURIComponent(staticMode.good)}`);
  expect(field("set-cookie")).toMatch(/; Path=\/s\/default\/nova\/8888\/; HttpOnly; SameSite=Strict$/);
});

it("the access log has no token of a query and no cookie", async () => {
  let lines = "";
  const sink = new Writable({
    write(chunk, _, done) {
      lines += String(chunk);
      done();
    },
  });
  await using world = await staticMode.open(["--access-log"], { log: createLogger("test", "info", sink) });
  await world.awake("nova", program("nova"));
  const cookie = await cookieOf(world, staticMode.good);
  await ask(world, "GET /s/default/nova/8888/?token=a-wrong-guess&x=1", `Cookie: ${cookie}`);
  await ask(world, "GET /s/default/nova?token=a-wrong-guess");
  await eventually(() => lines.split("\n").filter((line) => line.includes('"msg":"request"')).length === 3);
  expect(lines).toContain('"path":"/s/default/nova/8888/"');
  for (const secret of ["token", "g%2Bo", "a-wrong-guess", cookie.slice("door=".length)])
    expect(lines).not.toContain(secret);
});
