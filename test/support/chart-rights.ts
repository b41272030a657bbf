import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";

const templates = {
  controller: ["controller/rbac", "controller/extensions-rbac", "hibernation/rbac"],
  activator: ["activator/rbac"],
  agent: ["hibernation/agent-rbac"],
} as const;

export type Program = keyof typeof templates;

/** Each right as `patch sandboxes/status.agents.x-k8s.io`. */
export interface Rights {
  readonly everywhere: ReadonlySet<string>;
  /** Only in namespaces that the chart chooses. */
  readonly somewhere: ReadonlySet<string>;
}

interface Role {
  readonly kind: string;
  readonly rules?: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

export const rightOf = (verb: string, group: string, resource: string): string =>
  `${verb} ${resource}${group === "" ? "" : `.${group}`}`;

/** The rights that the chart gives to a program whose parts are all switched on. Names of objects are left out. */
export function chartRights(program: Program): Rights {
  const roles = templates[program].flatMap((name) =>
    parseAllDocuments(switchedOn(readFileSync(`charts/rouse/templates/${name}.yaml`, "utf8"))).map(
      (document): Role => document.toJS(),
    ),
  );
  const rightsIn = (kind: string) =>
    roles
      .filter((role) => role?.kind === kind)
      .flatMap(({ rules = [] }) => rules)
      .flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) => resources.flatMap((each) => verbs.map((verb) => rightOf(verb, group, each)))),
      );
  return { everywhere: new Set(rightsIn("ClusterRole")), somewhere: new Set(rightsIn("Role")) };
}

/** A template with the first branch of each condition, without the values of Helm. */
function switchedOn(template: string): string {
  return template
    .replace(/^\s*\{\{.*\}\}\s*$/gm, "")
    .replace(/\{\{ if [^}]*\}\}(.*?)\{\{ else \}\}.*?\{\{ end \}\}/g, "$1")
    .replace(/\{\{.*?\}\}/g, "x");
}
