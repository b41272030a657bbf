import type { ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
import { answerJson, openScriptedApi, type Received, type ScriptedApi } from "../../test/support/scripted-api.ts";
import { ActivatorError } from "../errors.ts";
import type { Routed } from "../find/find.ts";
import type { RequestHead } from "../request.ts";
import { type ReviewSettings, reviewedTokens } from "./reviewed-tokens.ts";

const ada = { username: "ada", uid: "1", groups: ["team"], extra: { scope: ["all"] } };
const routed: Routed = {
  ...{ namespace: "team-a", name: "box-a", port: 1, byHost: false, podIp: undefined, timeoutMs: undefined },
};

/** An API server that knows one token and lets its owner reach one sandbox. */
function answerReviews({ path, body }: Received, response: ServerResponse): void {
  const { spec } = body as {
    readonly spec: {
      readonly token?: string;
      readonly audiences?: readonly string[];
      readonly user?: string;
      readonly resourceAttributes?: object;
    };
  };
  if (path === "/apis/authentication.k8s.io/v1/tokenreviews") {
    const authenticated = spec.token === "good";
    return answerJson(response, 201, {
      status: authenticated ? { authenticated, user: ada, audiences: spec.audiences } : { authenticated },
    });
  }
  const { name } = (spec.resourceAttributes ?? {}) as { readonly name?: string };
  answerJson(response, 201, { status: { allowed: spec.user === "ada" && name === "box-a" } });
}

let script: (received: Received, response: ServerResponse) => void = answerReviews;
let api: ScriptedApi;
let clock: FakeClock;
let registry: Registry;
beforeEach(async () => {
  script = answerReviews;
  clock = new FakeClock();
  registry = new Registry();
  api = await openScriptedApi((received, response) => script(received, response), { clock });
});
afterEach(() => api[Symbol.asyncDispose]());

const settings: ReviewSettings = {
  ...{ ttlMs: 30_000, cacheSize: 100, tokenRequired: false, audiences: [], accessReviewed: false },
};

function door(changed: Partial<ReviewSettings> = {}) {
  const authorizer = reviewedTokens(
    { ...settings, ...changed },
    { client: api.client, clock, log: silentLogger, registry },
  );
  return async (token: string | undefined, name = "box-a"): Promise<string> => {
    const headers = token === undefined ? [] : [["Authorization", `bearer  ${token}`] as const];
    const head: RequestHead = { method: "GET", target: "/", host: "any", headers, peer: "", upgrade: false };
    const target = { ...routed, name };
    try {
      await authorizer.authenticate(head);
      return (await authorizer.authorize(head, target)).routed === target ? "allowed" : "another target";
    } catch (error) {
      if (!(error instanceof ActivatorError)) throw error;
      return `${error.status} ${error.detail}`;
    }
  };
}

const unavailable = "503 Authorization cannot be checked at the moment.";

describe("a token of the cluster (router 13.4)", () => {
  it("opens the sandboxes when the API server knows it, and nothing when not", async () => {
    const knock = door();
    expect(await knock("good")).toBe("allowed");
    expect(await knock("forged")).toBe("401 unauthenticated");
    expect(api.received.map(({ body }) => body)).toMatchObject([
      { kind: "TokenReview", apiVersion: "authentication.k8s.io/v1", spec: { token: "good" } },
      { spec: { token: "forged" } },
    ]);
  });

  it("is asked about once in its time, whether it is good or not, and by everybody who comes together at once", async () => {
    const knock = door();
    const crowd = await Promise.all(
      [...Array(20).fill("good"), ...Array(20).fill("forged")].map((each) => knock(each)),
    );
    expect(new Set(crowd.slice(0, 20))).toEqual(new Set(["allowed"]));
    expect(new Set(crowd.slice(20))).toEqual(new Set(["401 unauthenticated"]));
    await clock.advance(29_999);
    await knock("good");
    expect(api.received).toHaveLength(2);
    await clock.advance(1);
    await knock("good");
    expect(api.received).toHaveLength(3);
  });

  it("is forgotten when others come whose answers there is no room for", async () => {
    const knock = door({ cacheSize: 2 });
    for (const token of ["good", "a", "b", "good"]) await knock(token);
    expect(api.received).toHaveLength(4);
  });

  it("may be missing, unless that is refused", async () => {
    expect(await door()(undefined)).toBe("allowed");
    registry.clear();
    expect(await door({ tokenRequired: true })(undefined)).toBe("401 unauthenticated");
    expect(api.received).toEqual([]);
  });

  it("has to be for one of the audiences, whom the server has to name itself", async () => {
    expect(await door({ audiences: ["sandboxes", "others"] })("good")).toBe("allowed");
    registry.clear();
    script = (_, response) => answerJson(response, 201, { status: { authenticated: true, user: ada } });
    expect(await door({ audiences: ["sandboxes"] })("good")).toBe("401 unauthenticated");
  });
});

describe("while the API server cannot say", () => {
  it("everybody with a token is refused, and it is asked again after a third of the time", async () => {
    const knock = door();
    script = (_, response) => answerJson(response, 500, { message: "the secret of etcd" });
    expect(await knock("good")).toBe(unavailable);
    script = answerReviews;
    await clock.advance(9_999);
    expect(await knock("good")).toBe(unavailable);
    await clock.advance(1);
    expect(await knock("good")).toBe("allowed");
    expect(await registry.metrics()).toContain('rouse_activator_reviews_total{review="token",outcome="failed"} 1');
  });

  it("an answer of before is used no longer than its time", async () => {
    const knock = door();
    await knock("good");
    script = (_, response) => answerJson(response, 403, { message: "tokenreviews is forbidden" });
    await clock.advance(30_000);
    expect(await knock("good")).toBe(unavailable);
  });

  it("nobody waits longer than three seconds, and no more than 64 wait at once", async () => {
    const knock = door();
    script = () => {};
    const waiting = Array.from({ length: 65 }, (_, at) => knock(`guess-${at}`));
    expect(await waiting[64]).toBe(unavailable);
    await clock.advance(3_000);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([unavailable]));
    const metrics = await registry.metrics();
    expect(metrics).toContain('rouse_activator_reviews_total{review="token",outcome="failed"} 64');
    expect(metrics).toContain('rouse_activator_reviews_total{review="token",outcome="crowded"} 1');
  });
});

describe("with a review of access", () => {
  it("its owner reaches the sandboxes that they may connect to", async () => {
    const knock = door({ accessReviewed: true });
    expect(await knock("good", "box-a")).toBe("allowed");
    expect(await knock("good", "box-b")).toBe("403 forbidden");
    expect(await knock("good", "box-a")).toBe("allowed");
    expect(api.received).toHaveLength(3);
    const resource = { group: "agents.x-k8s.io", resource: "sandboxes", subresource: "connect", verb: "get" };
    expect(api.received[1]?.body).toMatchObject({
      kind: "SubjectAccessReview",
      spec: {
        ...{ user: "ada", uid: "1", groups: ["team"], extra: { scope: ["all"] } },
        resourceAttributes: { ...resource, namespace: "team-a", name: "box-a" },
      },
    });
  });

  it("who brings no token is asked about as nobody in particular", async () => {
    expect(await door({ accessReviewed: true })(undefined)).toBe("403 forbidden");
    expect(api.received[0]?.body).toMatchObject({
      spec: { user: "system:anonymous", groups: ["system:unauthenticated"] },
    });
  });

  it("who cannot be asked about is refused", async () => {
    const knock = door({ accessReviewed: true });
    script = (received, response) => {
      if (received.path.includes("tokenreviews")) answerReviews(received, response);
      else answerJson(response, 503, {});
    };
    expect(await knock("good")).toBe(unavailable);
    expect(await registry.metrics()).toContain('rouse_activator_reviews_total{review="access",outcome="failed"} 1');
  });
});
