import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openHttp2Client } from "../../test/support/http2-client.ts";
import {
  type ActivatorWorld,
  heldRequests,
  httpProgram,
  openActivatorWorld,
  rawConnection,
} from "../../test/support/labs/activator-world.ts";
import { ConfigError } from "../config/config-error.ts";
import { type RequestScope, readRequestScope } from "./scoped-token-v2.ts";
import { readVerificationKeys } from "./verification-keys.ts";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const x = String(publicKey.export({ format: "jwk" }).x);
const keySet = JSON.stringify({ keys: [{ kid: "one", publicKey: x }] });
const keys = readVerificationKeys(keySet, "keys.json");
const encoded = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

function signed(payload: string, kid = "one", version = "v2"): string {
  const signature = sign(null, Buffer.from(`agent-sandbox/scoped-token/${version}.${kid}.${payload}`), privateKey);
  return `${version}.${kid}.${payload}.${signature.toString("base64url")}`;
}

const scope: RequestScope = {
  ...{ ns: "default", name: "nova", uid: "u-1", port: 8888, method: "GET", path: "/a%2Fb", exp: 1_893_456_000 },
};
const before = new Date("2029-12-31T23:59:59.999Z");

/** Signed by Python's cryptography with the first key of RFC 8032, 7.1. */
const foreignToken =
  "v2.rfc.eyJucyI6ImRlZmF1bHQiLCJuYW1lIjoibm92YSIsInVpZCI6InUtMSIsInBvcnQiOjg4ODgsIm1ldGhvZCI6IkdFVCIsInBhdGgiOiIvIiwiZXhwIjoxODkzNDU2MDAwfQ." +
  "q-QgmValCO5FlAbyGPCffp_30yIa7GpSd5YEvAY3jgTevykBP7fvnAx83GxtZvhnpXWnEtaQxLb3UaLEZ5PSAg";

describe("a scoped token of version 2", () => {
  it("is read with the key that it names, until its exact second", () => {
    const token = signed(encoded(scope));
    expect(readRequestScope(token, keys, before)).toEqual(scope);
    expect(readRequestScope(token, keys, new Date("2030-01-01T00:00:00Z"))).toBeUndefined();
  });

  it("agrees with a token that another program has signed", () => {
    const known = { kid: "rfc", publicKey: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
    const rfcKeys = readVerificationKeys(JSON.stringify({ keys: [known] }), "keys.json");
    expect(readRequestScope(foreignToken, rfcKeys, before)).toEqual({ ...scope, path: "/" });
  });

  it.each([
    ["of another version", signed(encoded(scope), "one", "v1")],
    ["with a key that is not known", signed(encoded(scope), "two")],
    ["with a malformed key id", signed(encoded(scope), "o+e")],
    ["of three parts", signed(encoded(scope)).split(".").slice(0, 3).join(".")],
    ["of five parts", `${signed(encoded(scope))}.x`],
    ["with another payload", signed(encoded(scope)).replace(encoded(scope), encoded({ ...scope, name: "other" }))],
    ["with another spelling of its signature", `${signed(encoded(scope))}=`],
    ["without JSON", signed(encoded("{"))],
    ["without an object", signed(encoded("null"))],
    ["with a padded payload", signed(`${encoded({ ...scope, ns: "a" })}==`)],
    ["without a UID", signed(encoded({ ...scope, uid: "" }))],
    ["with a port as text", signed(encoded({ ...scope, port: "8888" }))],
    ["without an end", signed(encoded({ ...scope, exp: undefined }))],
    ["with a fraction of a second", signed(encoded({ ...scope, exp: 1_893_456_000.5 }))],
  ])("%s is invalid", (_, token) => {
    expect(readRequestScope(token, keys, before)).toBeUndefined();
  });
});

describe("a set of verification keys", () => {
  it.each([
    ["", /must be/],
    [`${keySet} {}`, /must be/],
    ['{"keys":{}}', /must be/],
    [`{"keys":[],"more":1}`, /must be/],
    ['{"keys":[]}', /has no key/],
    [`{"keys":[{"kid":"a","publicKey":"${x}","alg":"EdDSA"}]}`, /nothing else/],
    [`{"keys":[{"kid":"","publicKey":"${x}"}]}`, /kid of 1 to 128/],
    [`{"keys":[{"kid":"${"a".repeat(129)}","publicKey":"${x}"}]}`, /kid of 1 to 128/],
    [`{"keys":[{"kid":"a.b","publicKey":"${x}"}]}`, /kid of 1 to 128/],
    [`{"keys":[{"kid":"a","publicKey":"${x}="}]}`, /32 bytes/],
    [`{"keys":[{"kid":"a","publicKey":"AAAA"}]}`, /32 bytes/],
    [`{"keys":[{"kid":"a","publicKey":"${x}"},{"kid":"a","publicKey":"${x}"}]}`, /two keys/],
  ])("that is malformed stops the start: %s", (text, why) => {
    const read = () => readVerificationKeys(text, "keys.json");
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(why);
  });
});

const directory = await mkdtemp(join(tmpdir(), "scoped-token-v2-"));
afterAll(() => rm(directory, { recursive: true }));
await writeFile(join(directory, "keys"), keySet);
const secret = "0123456789abcdef0123456789abcdef";
await writeFile(join(directory, "secret"), secret);
const flags = ["--authz-mode=scoped-token", `--authz-scoped-token-verification-keys-file=${join(directory, "keys")}`];

const program = httpProgram(({ method, url }, response) => response.end(`${method} ${url}`));

async function uidOf(world: ActivatorWorld): Promise<string> {
  return String((await world.sandbox("nova")).metadata.uid);
}

interface Request {
  readonly line: string;
  readonly host?: string;
  readonly more?: readonly string[];
}

/** The status of the answer. */
async function ask(
  { activator }: ActivatorWorld,
  token: string,
  { line, host = "localhost", more = [] }: Request,
): Promise<number> {
  using client = await rawConnection(activator);
  const fields = [`Host: ${host}`, `Authorization: Bearer ${token}`, "Connection: close", "Content-Length: 0", ...more];
  client.send(`${line} HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`);
  return Number((await client.closed()).split(" ")[1]);
}

describe("an activator with verification keys", () => {
  const byHeaders = ["X-Sandbox-ID: nova", "X-Sandbox-Port: 8888"];

  it("opens one port, method and path of one sandbox to a token, whatever names the sandbox", async () => {
    await using world = await openActivatorWorld([...flags, "--path-routing-prefix=/s"]);
    await world.awake("nova", program);
    await world.awake("other", program);
    const token = signed(encoded({ ...scope, uid: await uidOf(world), exp: 4_000_000_000 }));
    const host = "nova.default.sandbox.localhost";
    const requests: readonly (readonly [Request, number])[] = [
      [{ line: "GET /a%2Fb", more: byHeaders }, 200],
      [{ line: "GET /a%2fb?x=1", host: `8888--nova--default.sandbox.localhost` }, 200],
      [{ line: "GET /a%2Fb", host }, 200],
      [{ line: "GET /s/default/nova/8888/a%2Fb?x=1" }, 200],
      [{ line: "GET /a%2Fb", more: [...byHeaders, "X-Sandbox-UID: another"] }, 200],
      [{ line: "GET /a%2Fb", more: [...byHeaders, "X-Sandbox-Pod-IP: 10.0.0.1"] }, 403],
      [{ line: "GET /a/b", more: byHeaders }, 403],
      [{ line: "GET /a%2Fb/", more: byHeaders }, 403],
      [{ line: "GET /a%2Fb%", more: byHeaders }, 403],
      [{ line: "HEAD /a%2Fb", more: byHeaders }, 403],
      [{ line: "get /a%2Fb", more: byHeaders }, 403],
      [{ line: "GET /s/default/other/8888/a%2Fb" }, 403],
      [{ line: "GET /s/default/nova/8889/a%2Fb" }, 403],
      [{ line: "GET /s/default/nowhere/8888/a%2Fb" }, 403],
    ];
    for (const [request, status] of requests)
      expect([request, await ask(world, token, request)]).toEqual([request, status]);
    expect(await ask(world, `${token}x`, { line: "GET /a%2Fb", more: byHeaders })).toBe(401);
  });

  it.each([
    ...["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "x-original-url", "X-Rewrite-URL"],
    ...["X_HTTP_Method_Override", "X.Original.Uri", "X-Override-URL", "X-Original-Path"],
  ])("refuses a header that programs read as another method or path: %s", async (name) => {
    await using world = await openActivatorWorld([...flags, "--http2"]);
    await world.asleep("nova", program);
    const token = signed(encoded({ ...scope, uid: await uidOf(world), exp: 4_000_000_000 }));
    expect(await ask(world, token, { line: "GET /a%2Fb", more: [...byHeaders, `${name}: POST`] })).toBe(403);
    using client = openHttp2Client(world.activator.proxyPort);
    const { status, body } = await client.ask({
      ...{ ":path": "/a%2Fb", ":authority": "nova.default.sandbox.localhost", [name]: "" },
      authorization: `Bearer ${token}`,
    });
    expect(status).toBe(403);
    expect(body).toContain("a header of the request may change them");
    expect(world.kubelet.made("nova")).toBe(0);
  });

  it("takes what proxies in front tell about their clients", async () => {
    await using world = await openActivatorWorld(flags);
    await world.awake("nova", program);
    const token = signed(encoded({ ...scope, uid: await uidOf(world), exp: 4_000_000_000 }));
    const more = [...byHeaders, "X-Original-Forwarded-For: 192.0.2.1", "X-Original-Host: a.example"];
    expect(await ask(world, token, { line: "GET /a%2Fb", more })).toBe(200);
  });

  it("wakes no sandbox for a token of a former one of the same name", async () => {
    await using world = await openActivatorWorld(flags);
    await world.asleep("nova", program);
    const former = signed(encoded({ ...scope, uid: await uidOf(world), exp: 4_000_000_000 }));
    await world.api.client.delete(sandboxType, { namespace: "default", name: "nova" });
    await eventually(async () => (await ask(world, former, { line: "GET /a%2Fb", more: byHeaders })) === 403);
    await world.asleep("nova", program);
    expect(await ask(world, former, { line: "GET /a%2Fb", more: byHeaders })).toBe(403);
    expect(world.kubelet.made("nova")).toBe(0);
  });

  it("does not hand a held request to a new sandbox of the same name", async () => {
    await using world = await openActivatorWorld(flags);
    await world.asleep("nova"); // without a program no port accepts
    const token = signed(encoded({ ...scope, uid: await uidOf(world), exp: 4_000_000_000 }));
    const answered = ask(world, token, { line: "GET /a%2Fb", more: byHeaders });
    await eventually(async () => (await heldRequests(world)) === 1);
    await world.api.client.delete(sandboxType, { namespace: "default", name: "nova" });
    await world.awake("nova", program);
    expect([410, 503]).toContain(await answered);
  });

  it("accepts tokens of version 1 until the time that ends them", async () => {
    const payload = encoded({ ns: "default", name: "nova", exp: 4_000_000_000 });
    const mac = createHmac("sha256", secret).update(`agent-sandbox/scoped-token/v1.${payload}`).digest("base64url");
    for (const [until, status] of [
      ["2099-01-01T00:00:00Z", 200],
      ["2020-01-01T00:00:00Z", 401],
    ] as const) {
      const v1 = [
        `--authz-scoped-token-secret-file=${join(directory, "secret")}`,
        `--authz-scoped-token-v1-until=${until}`,
      ];
      await using world = await openActivatorWorld([...flags, ...v1]);
      await world.awake("nova", program);
      expect(await ask(world, `v1.${payload}.${mac}`, { line: "GET /", more: byHeaders })).toBe(status);
      const token = signed(encoded({ ...scope, uid: await uidOf(world), path: "/", exp: 4_000_000_000 }));
      expect(await ask(world, token, { line: "GET /", more: byHeaders })).toBe(200);
    }
  });
});
