// What an API server is asked about somebody else: who has a token, and what they may do. Nothing of it is stored.
import type { KubeObject } from "./meta.ts";
import type { ResourceType } from "./resource-type.ts";

/** Somebody, as an API server knows them. */
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
    /** Those of the asked ones that the token is for; absent where the server knows nothing of audiences. */
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
