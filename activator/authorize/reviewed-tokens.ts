import { createHash } from "node:crypto";
import { Counter, type Registry } from "prom-client";
import { subjectAccessReviewType, tokenReviewType, type UserInfo } from "../../api/reviews.ts";
import { agentsGroup } from "../../api/sandbox.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import { ActivatorError } from "../errors.ts";
import type { Routed } from "../find/find.ts";
import { OncePerMinute } from "../observe/once-per-minute.ts";
import { type Allowed, type Authorizer, bearerOf } from "./authorizer.ts";
import { RecentAnswers } from "./recent-answers.ts";

export interface ReviewSettings {
  readonly ttlMs: number;
  /** So many tokens are remembered, and as many decisions about who may reach what. */
  readonly cacheSize: number;
  /** False: who brings no token is let in as nobody in particular. */
  readonly tokenRequired: boolean;
  /** For whom tokens have to be; empty: for the API server. */
  readonly audiences: readonly string[];
  /** Whether the API server is also asked who may reach which sandbox; else every good token opens all of them. */
  readonly accessReviewed: boolean;
}

export interface ReviewParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
}

/** Who somebody is, under a key that says nothing of their token. */
interface Known {
  readonly key: string;
  /** Undefined: the token is good for nothing. */
  readonly user: UserInfo | undefined;
}

interface Decision {
  readonly allowed: boolean;
}

/** As API servers name who brings no token. */
const nobody: Known = { key: "", user: { username: "system:anonymous", groups: ["system:unauthenticated"] } };

const limitMs = 3_000;
/** Guesses at tokens must not become a flood of questions to the API server. */
const openMax = 64;

/** Tokens of the cluster, which its API server is asked about (spec router 13.4). What it cannot say is refused. */
export function reviewedTokens(settings: ReviewSettings, parts: ReviewParts): Authorizer {
  const { client } = parts;
  const told = reviewTeller(parts);
  const limits = {
    ...{ clock: parts.clock, max: settings.cacheSize, ttlMs: settings.ttlMs, limitMs, openMax },
    failureTtlMs: Math.max(settings.ttlMs / 3, 1_000),
  };
  const users = new RecentAnswers<Known>({ ...limits, onFailure: (error) => told.failed("token", error) });
  const decisions = new RecentAnswers<Decision>({ ...limits, onFailure: (error) => told.failed("access", error) });
  const callers = new WeakMap<object, Known>();

  const askWho = async (token: string, key: string, signal: AbortSignal): Promise<Known> => {
    const { audiences } = settings;
    const spec = audiences.length > 0 ? { token, audiences } : { token };
    const { status } = await client.create(tokenReviewType, { metadata: {}, spec }, {}, signal);
    // A server that knows nothing of audiences says of every token that it is good.
    const isForUs = audiences.length === 0 || audiences.some((each) => status?.audiences?.includes(each));
    const user = status?.authenticated === true && isForUs ? (status.user ?? {}) : undefined;
    told.answered("token", user !== undefined);
    return { key, user };
  };

  const askWhether = async ({ user }: Known, { namespace, name }: Routed, signal: AbortSignal): Promise<Decision> => {
    const { username = "", uid, groups, extra } = user ?? {};
    const resourceAttributes = { group: agentsGroup, resource: "sandboxes", subresource: "connect", verb: "get" };
    const spec = {
      ...{ user: username, ...(uid !== undefined && { uid }), ...(groups && { groups }), ...(extra && { extra }) },
      resourceAttributes: { ...resourceAttributes, namespace, name },
    };
    const { status } = await client.create(subjectAccessReviewType, { metadata: {}, spec }, {}, signal);
    const allowed = status?.allowed === true;
    told.answered("access", allowed);
    return { allowed };
  };

  const admit = (head: object, known: Known | undefined) => {
    if (!known) throw new ActivatorError("AuthorizationUnavailable");
    if (!known.user) throw new ActivatorError("Unauthenticated");
    callers.set(head, known);
  };

  return {
    consumesAuthorization: true,
    authenticate(head) {
      const token = bearerOf(head);
      if (token === undefined) {
        if (settings.tokenRequired) throw new ActivatorError("Unauthenticated");
        return admit(head, nobody);
      }
      const key = createHash("sha256").update(token).digest("base64");
      const known = users.get(key, (signal) => askWho(token, key, signal));
      return known instanceof Promise ? known.then((later) => admit(head, later)) : admit(head, known);
    },
    authorize(head, routed) {
      if (!settings.accessReviewed) return { routed };
      const caller = callers.get(head);
      if (!caller) throw new ActivatorError("AuthorizationUnavailable");
      const key = `${caller.key} ${routed.namespace}/${routed.name}`;
      const decision = decisions.get(key, (signal) => askWhether(caller, routed, signal));
      return decision instanceof Promise ? decision.then((later) => judge(later, routed)) : judge(decision, routed);
    },
  };
}

function judge(decision: Decision | undefined, routed: Routed): Allowed {
  if (!decision) throw new ActivatorError("AuthorizationUnavailable");
  if (!decision.allowed) throw new ActivatorError("Forbidden");
  return { routed };
}

type Review = "token" | "access";

/** Counts what the API server was asked, and writes once a minute why it could not be. */
function reviewTeller({ registry, clock, log }: ReviewParts) {
  const reviews = new Counter({
    name: "rouse_activator_reviews_total",
    help: "Questions to the API server about tokens and access, by what came of them; crowded: not asked, for too many were.",
    labelNames: ["review", "outcome"] as const,
    registers: [registry],
  });
  for (const review of ["token", "access"] as const) {
    for (const outcome of ["yes", "no", "failed", "crowded"]) reviews.inc({ review, outcome }, 0);
  }
  const lines = new OncePerMinute(clock);
  return {
    answered: (review: Review, yes: boolean) => reviews.inc({ review, outcome: yes ? "yes" : "no" }),
    failed(review: Review, error: unknown): void {
      const outcome = error === undefined ? "crowded" : "failed";
      reviews.inc({ review, outcome });
      if (!lines.asks(`${review} ${outcome}`)) return;
      log.warn(
        { err: error, review },
        "the API server could not be asked who may reach a sandbox; requests are refused",
      );
    },
  };
}
