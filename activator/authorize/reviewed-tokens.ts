import { createHash } from "node:crypto";
import { Counter, type Registry } from "prom-client";
import { subjectAccessReviewType, tokenReviewType, type UserInfo } from "../../api/kinds/reviews.ts";
import { agentsGroup } from "../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Logger } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import { ActivatorError } from "../failures/errors-for-clients.ts";
import type { Routed } from "../find/find.ts";
import type { RequestHead } from "../request.ts";
import { type Allowed, type Authorizer, tokenItself } from "./authorizer.ts";
import type { Credential } from "./credential.ts";
import { RecentAnswers } from "./recent-answers.ts";
import { WaitingRequests } from "./waiting-requests.ts";

export interface ReviewSettings {
  readonly ttlMs: number;
  /** The number of good reviews kept; the same number of bad ones and of access decisions. */
  readonly cacheSize: number;
  /** False: a request without a token is served as the anonymous user. */
  readonly tokenRequired: boolean;
  /** The required audiences of tokens; empty: the API server's. */
  readonly audiences: readonly string[];
  /** Whether the API server also decides which user may reach which sandbox. False: every good token opens all sandboxes. */
  readonly accessReviewed: boolean;
}

export interface ReviewParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
}

/** A user, under a key that reveals nothing of the token. */
interface Known {
  readonly key: string;
  /** Undefined: the token is invalid. */
  readonly user: UserInfo | undefined;
  /** The name under which the user has a share; undefined for the anonymous user. */
  readonly owner: string | undefined;
}

interface Decision {
  readonly allowed: boolean;
  readonly owner: string | undefined;
}

/** The API server's names for a user without a token. */
const anonymous: Known = {
  key: "",
  user: { username: "system:anonymous", groups: ["system:unauthenticated"] },
  owner: undefined,
};

const limitMs = 3_000;
/** How long a review waits for its turn, in milliseconds. */
const waitMs = 2_000;
/** Limits on reviews, so that guessed tokens do not flood the API server. New reviews and renewals have as many each. */
const openMax = 64;
/** Of these for one client, so that it does not use up the reviews of others: an address, or a user once it is known. */
const openPerAskerMax = 16;
/** How many reviews wait for their turn: new ones, and renewals. One client has half of the places at most. */
const waitingMax = 1_024;
/** For one client: reviews per second without a good answer, and at once. */
const vainPerSecond = 50;
const vainBurst = 200;

/**
 * Reviews cluster tokens with the API server (`authentication.k8s.io`, `authorization.k8s.io`). A request is rejected while no
 * review is available.
 */
export function reviewedTokens(settings: ReviewSettings, parts: ReviewParts): Authorizer {
  return new ReviewedTokens(settings, parts);
}

class ReviewedTokens implements Authorizer {
  readonly consumesAuthorization = true;
  readonly sessionFor = tokenItself;
  readonly #settings: ReviewSettings;
  readonly #client: KubeClient;
  readonly #reviews: ReturnType<typeof reviewTeller>;
  readonly #users: RecentAnswers<Known>;
  readonly #decisions: RecentAnswers<Decision>;
  readonly #waiting = new WaitingRequests();
  readonly #callers = new WeakMap<object, Known>();

  constructor(settings: ReviewSettings, parts: ReviewParts) {
    this.#settings = settings;
    this.#client = parts.client;
    this.#reviews = reviewTeller(parts);
    const limits = {
      ...{ clock: parts.clock, max: settings.cacheSize, ttlMs: settings.ttlMs, limitMs },
      ...{ open: { max: openMax, maxOfGroup: openPerAskerMax }, waitingMax, waitMs },
      vainRate: { perSecond: vainPerSecond, burst: vainBurst },
      failureTtlMs: Math.max(settings.ttlMs / 3, 1_000),
    };
    const onFailure = (review: Review) => (error: unknown) => this.#reviews.failed(review, error);
    const ownerOf = ({ owner }: Pick<Known, "owner">) => owner;
    const isUser = ({ user }: Known) => user !== undefined;
    this.#users = new RecentAnswers({ ...limits, isGood: isUser, ownerOf, onFailure: onFailure("token") });
    this.#decisions = new RecentAnswers({
      ...limits,
      isGood: ({ allowed }: Decision) => allowed,
      ownerOf,
      onFailure: onFailure("access"),
    });
  }

  authenticate(head: RequestHead, credential: Credential | undefined): void | Promise<void> {
    const token = credential?.token;
    if (token === undefined) {
      if (this.#settings.tokenRequired) throw new ActivatorError("Unauthenticated");
      return this.#admit(head, anonymous);
    }
    const key = createHash("sha256").update(token).digest("base64");
    const known = this.#users.get(key, head.peer, (signal) => this.#reviewToken(token, key, signal));
    return known instanceof Promise
      ? this.#awaited(head, known, "token").then((later) => this.#admit(head, later))
      : this.#admit(head, known);
  }

  authorize(head: RequestHead, routed: Routed): Allowed | Promise<Allowed> {
    if (!this.#settings.accessReviewed) return { routed };
    const caller = this.#callers.get(head);
    if (!caller) throw new ActivatorError("AuthorizationUnavailable");
    const key = `${caller.key} ${routed.namespace}/${routed.name}`;
    const asker = caller.owner ?? head.peer;
    const decision = this.#decisions.get(key, asker, (signal) => this.#reviewAccess(caller, routed, signal));
    return decision instanceof Promise
      ? this.#awaited(head, decision, "access").then((later) => judge(later, routed))
      : judge(decision, routed);
  }

  /** Undefined as well if there is no room to keep the head, or what arrives of the body, until the answer comes. */
  async #awaited<A>(head: RequestHead, answer: Promise<A | undefined>, review: Review): Promise<A | undefined> {
    const { promise: crowded, resolve } = Promise.withResolvers<typeof noRoom>();
    using held = this.#waiting.hold(head, () => resolve(noRoom));
    const ending = held ? await Promise.race([answer, crowded]) : noRoom;
    if (ending !== noRoom) return ending;
    this.#reviews.failed(review, undefined);
    return undefined;
  }

  #admit(head: RequestHead, known: Known | undefined): void {
    if (!known) throw new ActivatorError("AuthorizationUnavailable");
    if (!known.user) throw new ActivatorError("Unauthenticated");
    this.#callers.set(head, known);
  }

  async #reviewToken(token: string, key: string, signal: AbortSignal): Promise<Known> {
    const { audiences } = this.#settings;
    const spec = audiences.length > 0 ? { token, audiences } : { token };
    const { status } = await this.#client.create(tokenReviewType, { metadata: {}, spec }, {}, signal);
    // An API server without audience support authenticates every token.
    const isForUs = audiences.length === 0 || audiences.some((each) => status?.audiences?.includes(each));
    const user = status?.authenticated === true && isForUs ? (status.user ?? {}) : undefined;
    this.#reviews.answered("token", user !== undefined);
    return { key, user, owner: user && shareOf(user) };
  }

  async #reviewAccess(caller: Known, { namespace, name }: Routed, signal: AbortSignal): Promise<Decision> {
    const { username = "", uid, groups, extra } = caller.user ?? {};
    const resourceAttributes = { group: agentsGroup, resource: "sandboxes", subresource: "connect", verb: "get" };
    const spec = {
      ...{ user: username, ...(uid !== undefined && { uid }), ...(groups && { groups }), ...(extra && { extra }) },
      resourceAttributes: { ...resourceAttributes, namespace, name },
    };
    const { status } = await this.#client.create(subjectAccessReviewType, { metadata: {}, spec }, {}, signal);
    const allowed = status?.allowed === true;
    this.#reviews.answered("access", allowed);
    return { allowed, owner: caller.owner };
  }
}

const noRoom = Symbol("no room to wait");

/** Service accounts of a namespace share: a user who may create one there may create any number. */
function shareOf({ username = "" }: UserInfo): string | undefined {
  if (username === "") return undefined;
  const [, namespace] = /^system:serviceaccount:([^:]+):/.exec(username) ?? [];
  return namespace === undefined ? `user ${username}` : `namespace ${namespace}`;
}

function judge(decision: Decision | undefined, routed: Routed): Allowed {
  if (!decision) throw new ActivatorError("AuthorizationUnavailable");
  if (!decision.allowed) throw new ActivatorError("Forbidden");
  return { routed };
}

type Review = "token" | "access";

/** Counts reviews by result and logs once a minute why a review failed. */
function reviewTeller({ registry, clock, log }: ReviewParts) {
  const reviews = new Counter({
    name: "rouse_activator_reviews_total",
    help: "TokenReviews and SubjectAccessReviews, by outcome: yes, no, failed (no answer of the API server), or crowded (not sent or not waited for: too many were in progress, too many for this client failed or were answered no, or waiting requests took too much memory).",
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
      if (outcome === "failed")
        log.warn({ err: error, review }, "a review failed; rejecting the requests that need it");
      else
        log.warn(
          { review },
          "a review was not sent or not waited for: too many reviews wait, waiting requests take too much memory, or too many reviews of this client failed or were answered no; the request is rejected",
        );
    },
  };
}
