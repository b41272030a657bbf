import type { Kubectl } from "../../../cluster/kubectl.ts";

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
}

/** Every verb on every resource that a role grants, in the form of `wordsOfRequest`; the role in the form for `kubectl get`. */
export async function grantedBy(kubectl: Kubectl, ...role: readonly string[]): Promise<readonly string[]> {
  const rules: readonly Rule[] = JSON.parse(await kubectl.run(["get", ...role, "--output=json"])).rules;
  return rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}${group ? `.${group}` : ""}`)),
    ),
  );
}
