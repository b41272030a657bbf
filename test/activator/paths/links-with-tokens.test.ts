import { describe, expect, it } from "vitest";
import { openHttp2Client } from "../../support/http2-client.ts";
import {
  type ActivatorWorld,
  httpProgram,
  openActivatorWorld,
  rawConnection,
} from "../../support/labs/activator-world.ts";

const token = "of-all-sandboxes";
const flags = ["--http2", "--path-routing-prefix=/s", "--authz-cookie-name=door", "--authz-cookie-query-param=token"];
const open = (more: readonly string[] = []) => openActivatorWorld([...flags, ...more], { ROUTER_AUTH_TOKEN: token });

interface Answer {
  readonly status: number;
  readonly body: string;
  /** All values of a field, in order. */
  readonly field: (name: string) => string;
}

type Fields = Readonly<Record<string, string>>;
type Ask = (world: ActivatorWorld, request: string, fields?: Fields) => Promise<Answer>;

const host = "door.example";

const askByHttp1: Ask = async ({ activator }, request, fields = {}) => {
  using client = await rawConnection(activator);
  const lines = Object.entries({ host, connection: "close", ...fields }).map(([name, value]) => `${name}: ${value}`);
  client.send(`${[`${request} HTTP/1.1`, ...lines].join("\r\n")}\r\n\r\n`);
  const [head = "", body = ""] = (await client.closed()).split("\r\n\r\n");
  const [first = "", ...rest] = head.split("\r\n");
  const valuesOf = (name: string) => rest.filter((line) => line.toLowerCase().startsWith(`${name}: `));
  const field = (name: string) =>
    valuesOf(name)
      .map((line) => line.slice(name.length + 2))
      .join(", ");
  return { status: Number(first.split(" ")[1]), body, field };
};

const askByHttp2: Ask = async ({ activator }, request, fields = {}) => {
  const [method = "", path = ""] = request.split(" ");
  using client = openHttp2Client(activator.proxyPort);
  const { host: authority = host, ...others } = fields;
  const names = { ":method": method, ":path": path, ":authority": authority };
  const { status, body, fields: got } = await client.ask({ ...names, ...others });
  const field = (name: string) => got.filter((_, at) => at % 2 === 1 && got[at - 1] === name).join(", ");
  return { status, body, field };
};

/** It notes what it is asked for, and has a script for service workers. */
function sandbox(seen: string[] = []) {
  return httpProgram((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    response.setHeader("Vary", "Accept").setHeader("Content-Type", "text/javascript").end("of the sandbox");
  });
}

const protocols: readonly { readonly protocol: string; readonly ask: Ask }[] = [
  { protocol: "HTTP/1.1", ask: askByHttp1 },
  { protocol: "HTTP/2", ask: askByHttp2 },
];

describe.each(protocols)("over $protocol, on a host with links that have tokens", ({ ask }) => {
  it("the script of each service worker is the activator's, and wakes nothing", async () => {
    await using world = await open();
    await world.asleep("nova", sandbox());
    const authorization = `Bearer ${token}`;
    const requests: readonly (readonly [string, Fields])[] = [
      ["GET /s/default/nova/8888/sw.js", { authorization }],
      ["GET /s/default/nova/8888", { authorization }],
      ["GET /s/default/nova/8888/sw.js", {}],
      ["GET /s/-/default/nova/8888/sw.js?token=of-all-sandboxes", {}],
      // A gateway may name the sandbox, and then the worker's scope is all of the host.
      ["GET /sw.js", { authorization, "x-sandbox-id": "nova" }],
    ];
    for (const [request, fields] of requests) {
      for (const mark of [{ "service-worker": "script" }, { "sec-fetch-dest": "serviceworker" }]) {
        const { status, body, field } = await ask(world, request, { ...fields, ...mark });
        expect([request, status, field("content-type")]).toEqual([request, 200, "text/javascript"]);
        expect(body).toContain("self.registration.unregister()");
        expect(field("cache-control")).toBe("no-store");
      }
    }
    expect(world.kubelet.made("nova")).toBe(0);
  });

  it("a sandbox that a host names has its own service workers, and so has each without such links", async () => {
    await using world = await open();
    await world.awake("nova", sandbox());
    const fields = { "service-worker": "script", authorization: `Bearer ${token}` };
    const byHost = await ask(world, "GET /sw.js", { ...fields, host: "8888--nova--default.sandbox.localhost" });
    expect([byHost.body, byHost.field("vary")]).toEqual(["of the sandbox", "Accept"]);
    await using other = await openActivatorWorld(["--http2", "--path-routing-prefix=/s"]);
    await other.awake("nova", sandbox());
    const byPath = await ask(other, "GET /s/default/nova/8888/sw.js", { "service-worker": "script" });
    expect([byPath.body, byPath.field("vary")]).toEqual(["of the sandbox", "Accept"]);
  });

  it("no response of a sandbox that is in a cache fits the script of a service worker", async () => {
    await using world = await open();
    await world.awake("nova", sandbox());
    const { field } = await ask(world, "GET /s/default/nova/8888/sw.js", { authorization: `Bearer ${token}` });
    expect(field("vary")).toBe("Accept, Service-Worker");
  });

  it("a form that has the token is answered with 303, and no sandbox gets its body", async () => {
    await using world = await open();
    const seen: string[] = [];
    await world.awake("nova", sandbox(seen));
    const types = ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "Text/Plain;charset=utf-8"];
    for (const type of [...types, undefined]) {
      const fields = { "content-length": "0", ...(type !== undefined && { "content-type": type }) };
      const { status, field } = await ask(world, `POST /s/default/nova/8888/a?token=${token}&x=1`, fields);
      expect([type, status, field("location")]).toEqual([type, 303, "/s/default/nova/8888/a?x=1"]);
      expect(field("set-cookie")).toMatch(/^door=[^;]+; Path=\/s\/default\/nova\/8888\/; HttpOnly; Secure/);
    }
    expect(seen).toEqual([]);
    const json = { "content-type": "application/json", "content-length": "0" };
    expect((await ask(world, `POST /s/default/nova/8888/a?token=${token}&x=1`, json)).status).toBe(200);
    expect(seen).toEqual(["POST /a?x=1"]);
  });

  it("the fields of a gateway with the URL of a request lose the token", async () => {
    await using world = await open();
    const seen: string[] = [];
    const names = ["x-original-url", "x-original-uri", "x-rewrite-url", "x-envoy-original-path"];
    const program = httpProgram(({ headers }, response) => {
      for (const name of names) seen.push(String(headers[name]));
      response.end();
    });
    await world.awake("nova", program);
    const target = `/s/default/nova/8888/a?x=1&token=${token}`;
    const fields = { "content-type": "application/json", "content-length": "0" };
    const urls = Object.fromEntries(names.map((name) => [name, `https://door.example${target}`]));
    expect((await ask(world, `POST ${target}`, { ...fields, ...urls })).status).toBe(200);
    expect(seen).toEqual(names.map(() => "https://door.example/s/default/nova/8888/a?x=1"));
  });

  it("a page never has the parameter in its URL, whatever authorized the request", async () => {
    await using world = await open();
    const seen: string[] = [];
    await world.awake("nova", sandbox(seen));
    const first = await ask(world, `GET /s/default/nova/8888/?token=${token}`);
    const [cookie = ""] = first.field("set-cookie").split(";", 1);
    for (const [query, fields] of [
      [`token=${token}`, { authorization: `Bearer ${token}` }],
      [`token=&token=${token}`, { cookie }],
      [`x=1&to%6ben=${token}`, { authorization: `Bearer ${token}` }],
    ] as const) {
      const { status, field } = await ask(world, `GET /s/default/nova/8888/?${query}`, fields);
      expect([query, status, field("location")]).toEqual([
        ...[query, 302],
        `/s/default/nova/8888/${query.startsWith("x=1") ? "?x=1" : ""}`,
      ]);
      expect(field("set-cookie")).toBe("");
    }
    expect(seen).toEqual([]);
  });

  it("an error is a page of no origin, so that no other page can read its URL", async () => {
    await using world = await open();
    for (const request of ["GET /s/default/nova/8888/?token=wrong", `GET /s/default?token=${token}`, "GET /"]) {
      for (const accept of ["text/html", "*/*"]) {
        const { status, field } = await ask(world, request, { accept });
        expect([request, status >= 400, field("content-security-policy")]).toEqual([request, true, "sandbox"]);
      }
    }
  });

  it("an entry path leads to the sandbox, and is served by none", async () => {
    await using world = await open();
    const seen: string[] = [];
    await world.asleep("nova", sandbox(seen));
    for (const method of ["GET", "HEAD"]) {
      const { status, field } = await ask(world, `${method} /s/-/default/nova/8888/a%2Fb?x=1&token=${token}`);
      expect([status, field("location")]).toEqual([302, "/s/default/nova/8888/a%2Fb?x=1"]);
      expect(field("set-cookie")).toMatch(/^door=[^;]+; Path=\/s\/default\/nova\/8888\/; /);
    }
    const posted = await ask(world, `POST /s/-/default/nova/8888?token=${token}`, { "content-length": "0" });
    expect([posted.status, posted.field("location")]).toEqual([303, "/s/default/nova/8888/"]);
    const authorization = `Bearer ${token}`;
    const json = { "content-type": "application/json", "content-length": "0" };
    const refused: readonly (readonly [string, Fields, number, string])[] = [
      ["GET /s/-/default/nova/8888/", { authorization }, 400, "BadSandboxPath"],
      [`POST /s/-/default/nova/8888/?token=${token}`, json, 400, "BadSandboxPath"],
      ["GET /s/-/default/nova/8888/?token=wrong", {}, 401, "WrongToken"],
      ["GET /s/-/default/nova/8888/", {}, 401, "MissingCredentials"],
      ["GET /s/-/default/nova", { authorization }, 400, "BadSandboxPath"],
      ["GET /s/-/-/default/nova/8888/", { authorization }, 400, "BadNamespace"],
      ["GET /s/%2d/default/nova/8888/", { authorization }, 400, "BadNamespace"],
    ];
    for (const [request, fields, status, reason] of refused) {
      const answer = await ask(world, request, fields);
      expect([request, answer.status, answer.field("x-rouse-reason")]).toEqual([request, status, reason]);
    }
    expect(seen).toEqual([]);
    expect(world.kubelet.made("nova")).toBe(0);
  });
});
