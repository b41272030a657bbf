import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { parseActivatorConfig } from "../activator/config/config.ts";
import { endLimitOf } from "../activator/shutdown.ts";
import { parseControllerConfig } from "../controller/config/config.ts";
import { controllerFlags } from "../controller/config/controller-flags.ts";
import { agentFlags } from "../node/agent/config/agent-flags.ts";
import { endLimitMs as endLimitOfAgent } from "../node/agent/start-agent.ts";
import { projectFiles } from "./support/project-files.ts";

const chart = join(import.meta.dirname, "..", "charts", "rouse");
const read = (path: string) => readFileSync(join(chart, path), "utf8");
const kebab = (key: string) => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** The values that the chart turns into flags one by one, in the list of its template. */
const flagValues = [
  ...(/range \$key := list ((?:"\w+" ?)+)/.exec(read("templates/_names.tpl"))?.[1] ?? "").matchAll(/\w+/g),
].map(([key]) => key);

describe("the chart's values", () => {
  const schema: Schema = JSON.parse(read("values.schema.json"));
  const ofController = schema.properties?.["controller"]?.properties ?? {};

  it("set flags that the controller has, with values of their kinds", () => {
    expect(flagValues.length).toBeGreaterThan(25);
    expect(flagValues.filter((key) => !Object.hasOwn(controllerFlags, kebab(key)))).toEqual([]);
    const others = ["leaderElect", "extensions", "clusterDomain", "extraArgs", "extraEnv"];
    expect(Object.keys(ofController).sort()).toEqual([...others, ...flagValues].sort());
  });

  it("and the values that its comments name are all in its schema", () => {
    const missing = (values: object, { properties = {} }: Schema, at: string): readonly string[] =>
      Object.entries(values).flatMap(([key, value]) => {
        const known = properties[key];
        if (!known) return [`${at}.${key}`];
        return known.properties && typeof value === "object" && value !== null
          ? missing(value, known, `${at}.${key}`)
          : [];
      });
    const values = read("values.yaml");
    expect(missing(parse(values), schema, "")).toEqual([]);
    expect(flagValues.filter((key) => !values.includes(key))).toEqual([]);
  });
});

interface RenderedPod {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly { readonly args: readonly string[] }[];
}

interface Rendered {
  readonly kind?: string;
  readonly spec: { readonly template: { readonly spec: RenderedPod } };
}

/** The Pod of the only Deployment, and the arguments of its program. */
function deployedPod(manifests: string) {
  const objects = parseAllDocuments(manifests).map((document): Rendered | null => document.toJS());
  const { containers, terminationGracePeriodSeconds } = objects
    .flatMap((object) => (object?.kind === "Deployment" ? [object.spec.template.spec] : []))
    .reduce((only) => only);
  return { args: containers.flatMap(({ args }) => args), graceMs: terminationGracePeriodSeconds * 1000 };
}

describe("the Pod of an activator", () => {
  it("has a grace period of 5 s more than the longest shutdown of the program", () => {
    const { args, graceMs } = deployedPod(readFileSync(join(chart, "..", "..", "k8s", "activator.yaml"), "utf8"));
    const flags = args.filter((arg) => /^--(drain-settle|shutdown-timeout)=/.test(arg));
    const config = parseActivatorConfig([...flags, "--authz-mode=allow-all"], {});
    expect(flags).toHaveLength(2);
    expect(graceMs).toBe(endLimitOf(config) + 5_000);
  });
});

describe("the Pod of a node agent", () => {
  const template = read("templates/hibernation/agent.yaml");

  it("has a grace period of 5 s more than the longest shutdown of the program", () => {
    const [, seconds] = /terminationGracePeriodSeconds: (\d+)/.exec(template) ?? [];
    expect(Number(seconds) * 1000).toBe(endLimitOfAgent + 5_000);
  });

  it("gets flags that the program has, and the folder in which the shim looks for memory", () => {
    const flags = [...template.matchAll(/--([a-z-]+)=/g)].map(([, name = ""]) => name);
    expect(flags.length).toBeGreaterThan(3);
    expect(flags.filter((name) => !Object.hasOwn(agentFlags, name))).toEqual([]);
    expect(template.match(/(?:path|mountPath): \/var\/lib\/rouse$/gm)).toHaveLength(2);
    expect(agentFlags.store.default).toBe("/var/lib/rouse");
  });
});

describe("the controller of the plain manifests", () => {
  const root = join(chart, "..", "..");
  const { args } = deployedPod(readFileSync(join(root, "k8s", "controller.yaml"), "utf8"));
  const page = readFileSync(join(root, "docs", "migrating.md"), "utf8");
  const [, added = ""] = /"path":"\/spec\/template\/spec\/containers\/0\/args\/-","value":"([^"]+)"/.exec(page) ?? [];

  it("has activators, and none with the flag that the page on rolling back adds", () => {
    expect(parseControllerConfig(args).activators).toBeDefined();
    expect(parseControllerConfig([...args, added]).activators).toBeUndefined();
  });
});

describe("the chart's alerts", () => {
  it("use only metrics that exist", () => {
    const rules = read("templates/monitoring/prometheus-rule.yaml");
    const asked = new Set(
      [
        ...rules.matchAll(
          /\b(?:rouse|agent_sandbox|controller_runtime|workqueue|leader_election|sandbox_router)_\w+(?={)/g,
        ),
      ].map(([name]) => name),
    );
    expect(asked.size).toBeGreaterThan(7);
    const sources = projectFiles().filter(
      (file) => /^(controller|activator|lib)\/.*\.ts$/.test(file) && !file.endsWith(".test.ts"),
    );
    const text = sources.map((file) => readFileSync(file, "utf8")).join("\n");
    expect([...asked].filter((name) => !text.includes(`"${name}"`))).toEqual([]);
  });

  it("are each explained in the operating guide", () => {
    const rules = read("templates/monitoring/prometheus-rule.yaml");
    const page = readFileSync(join(chart, "..", "..", "docs", "operating.md"), "utf8");
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    expect([...page.matchAll(/^\| `([A-Z]\w+)` \|/gm)].map(([, name]) => name)).toEqual(alerts);
  });
});
