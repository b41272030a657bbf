import type { ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { answerJson, openScriptedApi, type Received, type ScriptedApi } from "../../test/support/fakes/scripted-api.ts";
import { routed, verdictOf } from "../../test/support/labs/authorization.ts";
import { type ReviewSettings, reviewedTokens } from "./reviewed-tokens.ts";

const ada = { username: "ada", uid: "1", groups: ["team"], extra: { scope: ["all"] } };
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
  return async (token: string | undefined, name = "box-a", peer = ""): Promise<string> => {
    const headers = token === undefined ? [] : [["Authorization", `bearer  ${token}`] as const];
    const view = { synced: true, sandbox: () => undefined };
    return verdictOf(authorizer, { headers, peer, target: { ...routed, name }, view });
  };
}

const unavailable = "503 Authorization cannot be checked at the moment.";

describe("a token of the cluster", () => {
  it("gives access to sandboxes only if the API server authenticates it", async () => {
    const knock = door();
    expect(await knock("good")).toBe("allowed");
    expect(await knock("forged")).toBe("401 unauthenticated");
    expect(api.received.map(({ body }) => body)).toMatchObject([
      { kind: "TokenReview", apiVersion: "authentication.k8s.io/v1", spec: { token: "good" } },
      { spec: { token: "forged" } },
    ]);
  });

  it.each([8 * 3_600_000, -8 * 3_600_000])("is reviewed anew once the wall clock has jumped by %i ms", async (byMs) => {
    const knock = door();
    await knock("good");
    clock.jumpWall(byMs); // as after a suspension of the machine, for which monotonic time stands still
    await knock("good");
    expect(api.received).toHaveLength(2);
  });

  it("is reviewed anew once its review is as old as its life, also if the answer was read late", async () => {
    let answer = () => {};
    script = (received, response) => {
      if (api.received.length > 1) return answerReviews(received, response);
      answer = () => answerReviews(received, response);
    };
    const knock = door();
    const first = knock("good");
    await eventually(() => api.received.length === 1);
    clock.jumpWall(40_000); // as after a stand-still of the process, in which the answer came
    answer();
    expect(await first).toBe("allowed");
    await knock("good");
    expect(api.received).toHaveLength(2);
    await knock("good");
    expect(api.received).toHaveLength(2);
  });

  it("is reviewed once per lifetime, good or bad, and once for concurrent requests", async () => {
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

  it("is dropped from a full cache by later tokens", async () => {
    const knock = door({ cacheSize: 2 });
    for (const token of ["a", "b", "c", "a"]) await knock(token);
    expect(api.received).toHaveLength(4);
  });

  it("may be absent, unless a token is required", async () => {
    expect(await door()(undefined)).toBe("allowed");
    registry.clear();
    expect(await door({ tokenRequired: true })(undefined)).toBe("401 unauthenticated");
    expect(api.received).toEqual([]);
  });

  it("must have one of the audiences, confirmed by the server", async () => {
    expect(await door({ audiences: ["sandboxes", "others"] })("good")).toBe("allowed");
    registry.clear();
    script = (_, response) => answerJson(response, 201, { status: { authenticated: true, user: ada } });
    expect(await door({ audiences: ["sandboxes"] })("good")).toBe("401 unauthenticated");
  });
});

describe("guesses at tokens", () => {
  it("evict no good token", async () => {
    const knock = door({ cacheSize: 2 });
    await knock("good");
    for (let guess = 0; guess < 10; guess += 1) await knock(`guess-${guess}`);
    expect(await knock("good")).toBe("allowed");
    expect(api.received).toHaveLength(11);
  });

  it("of one address leave room for other addresses and for renewals", async () => {
    const knock = door();
    await knock("good");
    await clock.advance(30_000);
    script = (received, response) => {
      if (JSON.stringify(received.body).includes("guess")) return; // no answer
      answerReviews(received, response);
    };
    const guesses = Array.from({ length: 17 }, (_, at) => knock(`guess-${at}`, "box-a", "10.0.0.1"));
    expect(await knock("good", "box-a", "10.0.0.1")).toBe("allowed");
    expect(await knock("another", "box-a", "10.0.0.2")).toBe("401 unauthenticated");
    await clock.advance(2_000);
    expect(await guesses[16]).toBe(unavailable);
    await clock.advance(1_000);
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([unavailable]));
    expect(await knock("fresh", "box-a", "10.0.0.1")).toBe("401 unauthenticated");
  });
});

describe("clients whose tokens are good", () => {
  /** An API server to whom every token is the name of its user, and which allows everything. `held`: what it has not answered. */
  const answerAll = (isHeld: () => boolean) => {
    const held: (() => void)[] = [];
    script = ({ body }, response) => {
      const { spec } = body as { readonly spec: { readonly token?: string } };
      const user = { username: spec.token };
      const answer = () => answerJson(response, 201, { status: { authenticated: true, user, allowed: true } });
      if (isHeld()) held.push(answer);
      else answer();
    };
    return held;
  };

  it("all get access when more of them come, or come again, than may be reviewed at once", async () => {
    answerAll(() => false);
    const knock = door({ cacheSize: 1_000 });
    const crowd = () => Promise.all(Array.from({ length: 300 }, (_, at) => knock(`${at}`, "box-a", "10.0.0.1")));
    expect(new Set(await crowd())).toEqual(new Set(["allowed"]));
    await clock.advance(30_000);
    expect(new Set(await crowd())).toEqual(new Set(["allowed"]));
    expect(api.received).toHaveLength(600);
  });

  it.each([
    ["user", "evil", "evil"],
    ["namespace", "system:serviceaccount:evil:a", "system:serviceaccount:evil:b"],
  ])("leave turns for the renewals of others: one %s has 16 open at most", async (_, one, another) => {
    let isHeld = false;
    const held = answerAll(() => isHeld);
    const knock = door({ accessReviewed: true, cacheSize: 1_000 });
    const visits = (count: number) =>
      Array.from({ length: count }, (_, at) => knock(at % 2 ? one : another, `box-${at}`, "10.0.0.1"));
    await Promise.all(visits(100));
    await knock("victim");
    await clock.advance(30_000);
    await Promise.all([one, another, "victim"].map((token) => knock(token, "new"))); // the tokens are known again
    isHeld = true;
    const renewals = visits(100);
    await eventually(() => held.length === 16);
    isHeld = false;
    expect(await knock("victim")).toBe("allowed");
    expect(held).toHaveLength(16);
    for (const answer of held) answer();
    expect(new Set(await Promise.all(renewals))).toEqual(new Set(["allowed"]));
  });

  it("evict no other user's answers, for any number of sandboxes", async () => {
    answerAll(() => false);
    const knock = door({ accessReviewed: true, cacheSize: 10 });
    await knock("victim");
    for (let at = 0; at < 30; at += 1) await knock("evil", `box-${at}`);
    const before = api.received.length;
    expect(await knock("victim")).toBe("allowed");
    expect(api.received).toHaveLength(before);
  });

  it("have 512 places in the line; beyond that they are rejected at once", async () => {
    answerAll(() => true);
    const knock = door();
    const crowd = Array.from({ length: 16 + 512 + 1 }, (_, at) => knock(`${at}`, "box-a", "10.0.0.1"));
    expect(await crowd[16 + 512]).toBe(unavailable);
    await clock.advance(3_000);
    expect(new Set(await Promise.all(crowd))).toEqual(new Set([unavailable]));
  });
});

describe("the reviews of guessed tokens", () => {
  const guesses = async (knock: ReturnType<typeof door>, from: number, count: number) => {
    const answers: string[] = [];
    for (let at = from; at < from + count; at += 1) answers.push(await knock(`guess-${at}`, "box-a", "10.0.0.1"));
    return answers.filter((answer) => answer === "401 unauthenticated").length;
  };

  it("are at most 200 at once and 50 a second for each address; known tokens and other addresses are free", async () => {
    const knock = door();
    expect(await knock("good", "box-a", "10.0.0.1")).toBe("allowed");
    expect(await guesses(knock, 0, 210)).toBe(200);
    expect(await knock("new", "box-a", "10.0.0.1")).toBe(unavailable);
    expect(await knock("new", "box-a", "10.0.0.2")).toBe("401 unauthenticated");
    await clock.advance(1_000);
    expect(await guesses(knock, 300, 60)).toBe(50);
    await clock.advance(29_000);
    await guesses(knock, 400, 210);
    expect(await knock("good", "box-a", "10.0.0.1")).toBe("allowed");
    expect(await registry.metrics()).toMatch(/review="token",outcome="crowded"} 31$/m);
  });

  it("are not counted for good tokens", async () => {
    const knock = door();
    script = (_, response) => answerJson(response, 201, { status: { authenticated: true, user: ada } });
    const answers = new Set<string>();
    for (let at = 0; at < 300; at += 1) answers.add(await knock(`mine-${at}`, "box-a", "10.0.0.1"));
    expect(answers).toEqual(new Set(["allowed"]));
  });
});

describe("while token reviews fail", () => {
  it("every token is rejected, and reviewed again after a third of the cache time", async () => {
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

  it("an earlier answer is used until it expires", async () => {
    const knock = door();
    await knock("good");
    script = (_, response) => answerJson(response, 403, { message: "tokenreviews is forbidden" });
    await clock.advance(30_000);
    expect(await knock("good")).toBe(unavailable);
  });

  it("no more than 64 are asked about at once, for three seconds; the others wait in line for two", async () => {
    const knock = door();
    script = () => {};
    const waiting = Array.from({ length: 65 }, (_, at) => knock(`guess-${at}`, "box-a", `10.0.0.${at}`));
    await clock.advance(2_000);
    expect(await waiting[64]).toBe(unavailable);
    await clock.advance(1_000);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([unavailable]));
    const metrics = await registry.metrics();
    expect(metrics).toContain('rouse_activator_reviews_total{review="token",outcome="failed"} 64');
    expect(metrics).toContain('rouse_activator_reviews_total{review="token",outcome="crowded"} 1');
  });
});

describe("with access reviews", () => {
  it("a user reaches the sandboxes with permission to connect", async () => {
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

  it("a request without a token is reviewed as the anonymous user", async () => {
    expect(await door({ accessReviewed: true })(undefined)).toBe("403 forbidden");
    expect(api.received[0]?.body).toMatchObject({
      spec: { user: "system:anonymous", groups: ["system:unauthenticated"] },
    });
  });

  it("a user whose review fails is rejected", async () => {
    const knock = door({ accessReviewed: true });
    script = (received, response) => {
      if (received.path.includes("tokenreviews")) answerReviews(received, response);
      else answerJson(response, 503, {});
    };
    expect(await knock("good")).toBe(unavailable);
    expect(await registry.metrics()).toContain('rouse_activator_reviews_total{review="access",outcome="failed"} 1');
  });

  it("a client does not wait in the line of another that asked the same before", async () => {
    const knock = door({ accessReviewed: true, cacheSize: 1_000 });
    const held: (() => void)[] = [];
    script = (received, response) => void held.push(() => answerReviews(received, response));
    const crowd = Array.from({ length: 40 }, (_, at) => knock(undefined, `box-${at}`, "10.0.0.1"));
    await eventually(() => held.length === 16);
    const other = knock(undefined, "box-39", "10.0.0.2");
    await eventually(() => held.length === 17);
    held.pop()?.();
    expect(await other).toBe("403 forbidden");
    script = answerReviews;
    for (const answer of held) answer();
    expect(new Set(await Promise.all(crowd))).toEqual(new Set(["403 forbidden"]));
    expect(api.received).toHaveLength(40);
  });
});
