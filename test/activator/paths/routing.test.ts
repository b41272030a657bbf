import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerOf, openHttp2Client, valuesOf } from "../../support/http2-client.ts";
import {
  type ActivatorWorld,
  httpProgram,
  openActivatorWorld,
  rawConnection,
} from "../../support/labs/activator-world.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { webSocketProof } from "../../support/sockets/web-socket-proof.ts";

interface Seen {
  readonly sandbox: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
}

const cookies = [
  "a=1; Path=/; HttpOnly",
  "b=2; path=/app",
  "c=3",
  "d=4; Path=/s/default/nova/8888/x",
  "e=5; Domain=localhost",
];
const movedCookies = [
  ...["a=1; Path=/s/default/nova/8888/; HttpOnly", "b=2; path=/s/default/nova/8888/app", "c=3"],
  ...["d=4; Path=/s/default/nova/8888/x", "e=5"],
];

/** They act on all sandboxes of the host. */
const originWide = [
  ...["Service-Worker-Allowed", "Clear-Site-Data", "NEL", "Report-To", "Reporting-Endpoints", "Alt-Svc"],
  ...["Strict-Transport-Security", "Accept-CH"],
];

const earlyHints = { link: "</a.css>; rel=preload", ...Object.fromEntries(originWide.map((name) => [name, "/"])) };

/** It answers with what it has seen. Its page redirects, and sets cookies. */
const program = (sandbox: string) =>
  httpProgram(
    ({ url = "", headers }, response) => {
      if (url === "/early") response.writeEarlyHints(earlyHints);
      response.setHeader("Location", "/login?next=/").setHeader("Set-Cookie", cookies);
      for (const name of originWide) response.setHeader(name, "/");
      response.setHeader("X-After", "1");
      response.end(JSON.stringify({ sandbox, target: url, headers }));
    },
    (server) => {
      server.on("upgrade", ({ url, headers }, socket) => {
        const key = String(headers["sec-websocket-key"]);
        const accept = webSocketProof(key);
        const lines = cookies.map((cookie) => `Set-Cookie: ${cookie}\r\n`).join("");
        socket.end(
          `HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Target: ${url}\r\n` +
            `Sec-WebSocket-Accept: ${accept}\r\n${lines}\r\n`,
        );
      });
    },
  );

async function openWorld(...flags: readonly string[]): Promise<ActivatorWorld> {
  const world = await openActivatorWorld(["--http2", "--path-routing-prefix=/s", ...flags]);
  for (const name of ["nova", "other"]) await world.awake(name, program(name));
  return world;
}

let world: ActivatorWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly field: (name: string) => readonly string[];
}

/** The request target goes out as it is: a client library would change it. */
async function askHttp1(target: string, lines = "", { activator } = world): Promise<Answer> {
  using client = await rawConnection(activator);
  client.send(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${lines}\r\n`);
  const [head = "", ...body] = (await client.closed()).split("\r\n\r\n");
  const field = (name: string) =>
    [...head.matchAll(new RegExp(`^${name}: (.*)$`, "gim"))].map(([, value = ""]) => value);
  return { status: Number(head.split(" ")[1]), body: body.join("\r\n\r\n"), field };
}

async function askHttp2(target: string, headers: Record<string, string> = {}, { activator } = world): Promise<Answer> {
  using client = openHttp2Client(activator.proxyPort);
  const { status, body, fields } = await client.ask({ ":path": target, ":authority": "localhost", ...headers });
  return { status, body, field: (name) => valuesOf(fields, name) };
}

const seen = ({ body }: Answer): Seen => JSON.parse(body);
const detail = ({ status, body }: Answer) => `${status} ${JSON.parse(body).detail}`;

const fronts = [
  { front: "HTTP/1.1", ask: (target: string) => askHttp1(target) },
  { front: "HTTP/2", ask: (target: string) => askHttp2(target) },
];

describe.each(fronts)("over $front, a path that names a sandbox", ({ ask }) => {
  it.each([
    ["/s/default/nova/8888/a%2Fb?x=1", "/a%2Fb?x=1"],
    ["/s/default/nova/8888", "/"],
    ["/s/default/nova/8888/", "/"],
    ["/s/default/nova/8888?x=1", "/?x=1"],
    ["/s/default/nova/8888//a//b/", "//a//b/"],
    ["/s/def%61ult/nov%61/%38888/x", "/x"],
    ["/s/default/nova/8888/../other/8888/", "/../other/8888/"],
    ["/s/default/nova/8888/%2e%2e/%2E./other", "/%2e%2e/%2E./other"],
    ["/s/default/nova/8888/\\..\\other", "/\\..\\other"],
    ["/s/default/nova/8888/s/default/other/8888/", "/s/default/other/8888/"],
    ["/s/default/nova/8888/%zz?%zz=%", "/%zz?%zz=%"],
  ])("is removed before the sandbox sees it: %s", async (target, own) => {
    expect(seen(await ask(target))).toMatchObject({ sandbox: "nova", target: own });
  });

  it.each([
    ...["/s", "/s/", "/s?x=/default/nova/8888/", "/s/default", "/s/default/nova", "/s//nova/8888/"],
    ...[
      "/s/default/nova/",
      "/s/default/nova/0/",
      "/s/default/nova/65536/",
      "/s/default/nova/x/",
      "/s/Default/nova/8888/",
    ],
    ...["/s/../default/nova/8888/", "/s/default/../nova/8888/", "/s/default/%2e%2e/8888/", "/s/default%2Fnova/8888/1/"],
    ...["/s/default/nova%00/8888/", "/s/default/no%zzva/8888/", "/s/default\\nova\\8888/", "/s//default/nova/8888/"],
  ])("is refused if it names none: %s", async (target) => {
    expect((await ask(target)).status).toBe(400);
  });

  it("brings the sandbox its own path as a prefix, and the address of its Pod as the host", async () => {
    const { headers } = seen(await ask("/s/default/nova/8888/x"));
    expect(headers["x-forwarded-prefix"]).toBe("/s/default/nova/8888");
    expect(headers["x-forwarded-host"]).toBe("localhost");
    expect(headers["host"]).toMatch(/^127\.[\d.]+:8888$/);
  });

  it("moves redirects and cookies of the sandbox below it, and drops fields for the whole origin", async () => {
    const { field } = await ask("/s/default/nova/8888/");
    expect(field("location")).toEqual(["/s/default/nova/8888/login?next=/"]);
    expect(field("set-cookie")).toEqual(movedCookies);
    expect(originWide.filter((name) => field(name).length > 0)).toEqual([]);
    expect(field("x-after")).toEqual(["1"]);
  });
});

describe("headers beside a path that names a sandbox", () => {
  it("do not help a path that names none", async () => {
    const lines = "X-Sandbox-ID: nova\r\nX-Sandbox-Namespace: default\r\nX-Sandbox-Port: 8888\r\n";
    expect(detail(await askHttp1("/s/default/nova", lines))).toBe(
      "400 The path names no sandbox: /s/NAMESPACE/NAME/PORT/",
    );
    expect((await askHttp2("/s/default/nova", { "x-sandbox-id": "nova" })).status).toBe(400);
  });

  it.each(["X-Sandbox-ID: other", "X-Sandbox-Namespace: lab", "X-Sandbox-Port: 80"])(
    "must not name another: %s",
    async (line) => {
      expect((await askHttp1("/s/default/nova/8888/", `${line}\r\n`)).field("x-rouse-reason")).toEqual([
        "ConflictingHeaders",
      ]);
    },
  );

  it("decide for a path that only begins like the prefix", async () => {
    expect(seen(await askHttp1("/sx/default/nova/8888/", "X-Sandbox-ID: other\r\n"))).toMatchObject({
      ...{ sandbox: "other", target: "/sx/default/nova/8888/" },
    });
    expect(detail(await askHttp1("/sx/default/nova/8888/"))).toBe("400 X-Sandbox-ID header is required.");
  });
});

it.each([
  { front: "HTTP/1.1", askAs: (target: string) => askHttp1(target, "X-Sandbox-ID: other\r\n") },
  { front: "HTTP/2", askAs: (target: string) => askHttp2(target, { "x-sandbox-id": "other" }) },
])("a sandbox that headers name over $front sends no fields for the whole origin of paths", async ({ askAs }) => {
  const answer = await askAs("/x");
  expect(seen(answer)).toMatchObject({ sandbox: "other", target: "/x" });
  expect(originWide.filter((name) => answer.field(name.toLowerCase()).length > 0)).toEqual([]);
  expect([answer.field("location"), answer.field("set-cookie")]).toEqual([["/login?next=/"], cookies]);
});

it("on a host that names a sandbox, every path is that sandbox's", async () => {
  using client = await rawConnection(world.activator);
  const host = "other.default.sandbox.localhost";
  client.send(`GET /s/default/nova/8888/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const answer = await client.closed();
  expect(answer).toContain('"sandbox":"other","target":"/s/default/nova/8888/"');
  expect(originWide.filter((name) => !answer.includes(`\r\n${name}: /\r\n`))).toEqual([]);
});

it("a path names a sandbox for a WebSocket, and its cookies are moved too", async () => {
  using client = await rawConnection(world.activator);
  const asks = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n";
  client.send(`GET /s/default/nova/8888/chat?x=1 HTTP/1.1\r\nHost: localhost\r\n${asks}\r\n`);
  const head = await client.until("\r\n\r\n");
  expect(head).toContain("HTTP/1.1 101 ");
  expect(head).toContain("X-Target: /chat?x=1\r\n");
  expect([...head.matchAll(/^Set-Cookie: (.*)\r$/gim)].map(([, value]) => value)).toEqual(movedCookies);
});

it("a path names a sandbox for a WebSocket over HTTP/2", async () => {
  using client = openHttp2Client(world.activator.proxyPort);
  await once(client.session, "remoteSettings");
  const stream = client.open({
    ...{ ":method": "CONNECT", ":protocol": "websocket", ":scheme": "http", ":authority": "localhost" },
    ":path": "/s/default/nova/8888/chat?x=1",
  });
  const answer = answerOf(stream);
  stream.end();
  const { status, fields } = await answer;
  expect(status).toBe(200);
  expect(valuesOf(fields, "x-target")).toEqual(["/chat?x=1"]);
  expect(valuesOf(fields, "set-cookie")).toEqual(movedCookies);
});

it.each([
  { names: "the path", authority: "localhost", target: "/s/default/nova/8888/early", kept: [] },
  { names: "the host", authority: "nova.default.sandbox.localhost", target: "/early", kept: originWide },
])("an early response over HTTP/2 keeps fields for the whole origin as $names allows", async (way) => {
  using client = openHttp2Client(world.activator.proxyPort);
  const stream = client.open({ ":path": way.target, ":authority": way.authority });
  const early = once(stream.end(), "headers");
  const answer = answerOf(stream);
  const [fields] = await early;
  expect((await answer).status).toBe(200);
  expect(fields).toMatchObject({ ":status": 103, link: earlyHints.link });
  expect(originWide.filter((name) => fields[name.toLowerCase()] !== undefined)).toEqual(way.kept);
});

it("a path wakes the sandbox that it names, and that one alone", async () => {
  await using fresh = await openActivatorWorld(["--path-routing-prefix=/by/path"]);
  await fresh.asleep("sleeper", program("sleeper"));
  await fresh.asleep("bystander", program("bystander"));
  expect(seen(await askHttp1("/by/path/default/sleeper/8888/x", "", fresh))).toMatchObject({
    ...{ sandbox: "sleeper", target: "/x" },
  });
  expect(fresh.kubelet.made("bystander")).toBe(0);
});

it("requests by path that ignoreRequests names do not wake a sandbox: its own path is compared", async () => {
  await using fresh = await openActivatorWorld(["--path-routing-prefix=/s"]);
  const autoSuspension = { inactivityTimeoutSeconds: 60, ignoreRequests: [{ pathPrefix: "/ping" }] };
  await fresh.asleep("sleeper", program("sleeper"), { autoSuspension });
  const ping = await askHttp1("/s/default/sleeper/8888/ping", "", fresh);
  expect(ping.field("x-rouse-reason")).toEqual(["WakeNotAllowed"]);
  expect((await askHttp1("/s/default/sleeper/8888/", "", fresh)).status).toBe(200);
});

it("responses stay as they are with --path-routing-rewrite-responses=false, but for fields of origins", async () => {
  await using fresh = await openWorld("--path-routing-rewrite-responses=false");
  const { field } = await askHttp1("/s/default/nova/8888/", "", fresh);
  expect(field("location")).toEqual(["/login?next=/"]);
  expect(field("set-cookie")).toEqual([...cookies.slice(0, -1), "e=5"]);
  expect(originWide.filter((name) => field(name).length > 0)).toEqual([]);
});

it("no path names a sandbox by default", async () => {
  await using fresh = await openActivatorWorld();
  expect(detail(await askHttp1("/s/default/nova/8888/", "", fresh))).toBe("400 X-Sandbox-ID header is required.");
});

it("the page of the example has relative URLs alone, so that it works below a path", async () => {
  const page = await readFile("examples/hello/server.mjs", "utf8");
  const urls = [...page.matchAll(/new (?:EventSource|URL)\("([^"]+)"|(?:href|src|action)="([^"]+)"/g)];
  expect(urls.map(([, one, other]) => one ?? other)).toEqual(["events", "ws"]);
});

describe("whatever is in a path", () => {
  const pieces = [
    "..",
    "%2e%2e",
    "%2E.",
    ".",
    "",
    "\\",
    "%5c",
    "%2f",
    "s",
    "default",
    "other",
    "nova",
    "8888",
    "%00",
    ";",
    "?",
    "#",
  ];

  /** The same form as a reader of the specification would write it. */
  const meant = (target: string) =>
    /^\/s\/(?<namespace>[a-z]+)\/(?<name>[a-z]+)\/(?<port>\d+)(?<rest>[/?].*)?$/.exec(target)?.groups;

  it.each([1, 2, 3, 4])(
    "only the sandbox that it names gets it, and gets the rest unchanged (seed %i)",
    async (seed) => {
      const random = seededRandom(seed);
      const outcomes = new Set<string>();
      for (let round = 0; round < 60; round += 1) {
        const count = random.below(6);
        const tail = Array.from({ length: count }, () => random.oneOf(pieces)).join("/");
        const beginning = random.oneOf(["/s/default/nova/8888/", "/s/default/nova/8888", "/s/default/", "/s/"]);
        const target = `${beginning}${tail}`.replaceAll("#", "%23");
        const answer = await (random.below(2) === 0 ? askHttp1(target) : askHttp2(target));
        const expected = meant(target);
        outcomes.add(String(answer.status));
        if (answer.status !== 200) {
          expect([target, expected?.["port"] === "8888" && ["nova", "other"].includes(expected["name"] ?? "")]).toEqual(
            [target, false],
          );
          continue;
        }
        const { namespace, name, port, rest = "/" } = expected ?? {};
        expect([target, namespace, port]).toEqual([target, "default", "8888"]);
        const own = rest.startsWith("/") ? rest : `/${rest}`;
        expect(seen(answer)).toMatchObject({ sandbox: name, target: own });
      }
      expect([...outcomes]).toEqual(expect.arrayContaining(["200", "400"]));
    },
  );
});
