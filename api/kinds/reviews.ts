// Reviews of other users by an API server: the user of a token, and permissions. Reviews are not stored.
import type { KubeObject } from "./meta.ts";
import type { ResourceType } from "./resource-type.ts";

/** A user in an API server's terms. */
export interface UserInfo {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface TokenReview extends KubeObject {
  readonly spec: { readonly token: string; readonly audiences?: readonly string[] };
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: UserInfo;
    /** The requested audiences that the token is valid for; absent if the server does not support audiences. */
    readonly audiences?: readonly string[];
  };
}

export interface SubjectAccessReview extends KubeObject {
  readonly spec: {
    readonly user?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
    readonly resourceAttributes: {
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly verb: string;
      readonly namespace: string;
      readonly name: string;
    };
  };
  readonly status?: { readonly allowed?: boolean };
}

export const tokenReviewType: ResourceType<TokenReview> = {
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenReview",
  plural: "tokenreviews",
  namespaced: false,
};

export const subjectAccessReviewType: ResourceType<SubjectAccessReview> = {
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false,
};
