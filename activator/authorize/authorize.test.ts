import { describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { routed, verdictOf } from "../../test/support/labs/authorization.ts";
import type { HeaderPair } from "../request.ts";
import { type Authorizer, staticToken } from "./authorizer.ts";
import { scopedTokens, verifyScopedToken } from "./scoped-token.ts";

const key = "0123456789abcdef0123456789abcdef";
const vector =
  "v1.eyJucyI6InRlYW0tYSIsIm5hbWUiOiJib3gtYSIsImV4cCI6MTg5MzQ1NjAwMH0.PAJNQOOpKFJLDdei4ZhmFXEmn0HGf7HzeFvKXNOBjko";
/** What a cluster has does not matter here. */
const unseen = { synced: false, sandbox: () => undefined };

async function verdict(
  authorizer: Authorizer,
  authorization: string | undefined,
  target = routed,
  more: readonly HeaderPair[] = [],
) {
  const headers: HeaderPair[] = [...more];
  if (authorization !== undefined) headers.push(["Authorization", authorization]);
  return verdictOf(authorizer, { headers, target, view: unseen });
}

describe("one token for all", () => {
  it.each([
    ["Bearer secret", "allowed"],
    ["bEARER   secret", "allowed"],
    [undefined, "401 Missing or invalid Authorization header."],
    ["Basic secret", "401 Missing or invalid Authorization header."],
    ["Bearer secret more", "401 Missing or invalid Authorization header."],
    ["Bearer wrong", "401 Invalid token."],
  ])("answers %s with %s", async (authorization, expected) => {
    expect(await verdict(staticToken("secret", new FakeClock()), authorization)).toBe(expected);
  });
});

describe("a scoped token", () => {
  const authorizer = scopedTokens(
    { secret: key, v1Until: undefined, verificationKeys: undefined },
    new FakeClock("2026-01-01T00:00:00Z"),
  );

  it("opens its own sandbox alone", async () => {
    expect(await verdict(authorizer, `Bearer ${vector}`)).toBe("allowed");
    expect(await verdict(authorizer, `Bearer ${vector}`, { ...routed, name: "box-b" })).toBe("403 forbidden");
    expect(await verdict(authorizer, `Bearer ${vector}`, { ...routed, namespace: "default" })).toBe("403 forbidden");
  });

  it("is rejected with headers that choose an address", async () => {
    expect(await verdict(authorizer, `Bearer ${vector}`, routed, [["X-Sandbox-Pod-IP", "10.0.0.1"]])).toBe(
      "403 forbidden",
    );
    expect(await verdict(authorizer, `Bearer ${vector}`, routed, [["X-Sandbox-UID", "u"]])).toBe("403 forbidden");
  });

  it.each([
    ["nothing", undefined],
    ["another version", `Bearer v2.${vector.slice(3)}`],
    ["a missing part", "Bearer v1.abc"],
    ["another spelling of its signature", `Bearer ${vector}=`],
    ["more in its signature", `Bearer ${vector.slice(0, -3)};${vector.slice(-3)}`],
    ["another signature", `Bearer ${vector.slice(0, -2)}xx`],
    ["another payload", `Bearer ${vector.replace("eyJ", "eyK")}`],
  ])("is not %s", async (_, authorization) => {
    expect(await verdict(authorizer, authorization)).toBe("401 unauthenticated");
  });

  it("expires at its exact second", () => {
    const at = (time: string) => verifyScopedToken(vector, key, new Date(time));
    expect(at("2029-12-31T23:59:59.999Z")).toEqual({ ns: "team-a", name: "box-a", exp: 1893456000 });
    expect(at("2030-01-01T00:00:00Z")).toBeUndefined();
  });
});
