import { globSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sandboxReasons } from "../api/rules/conditions.ts";
import { referencePages } from "../scripts/reference/pages.ts";
import { claimReadyReasons, eventReasons, memoryReasons } from "../scripts/reference/reasons.ts";

const folder = "docs/reference";
const pages = await referencePages();
const programs = "{activator,controller,kube,lib}/**/*.ts";
const sources = globSync(["controller/**/*.ts", "kube/notes/*.ts"])
  .filter((path) => !path.endsWith(".test.ts"))
  .map((path) => readFileSync(path, "utf8"));

describe("the reference pages", () => {
  it.each([...pages])("%s says what the code says: npm run generate:reference", (name, text) => {
    expect(readFileSync(`${folder}/${name}`, "utf8")).toBe(text);
  });

  it("are all generated", () => {
    expect(readdirSync(folder)).toEqual([...pages.keys()].sort());
  });

  it("give each metric a type of Prometheus", () => {
    const types = [...(pages.get("metrics.md") ?? "").matchAll(/^\| `\w+` \| (\w+) \|/gm)].map(([, type]) => type);
    expect(types.length).toBeGreaterThan(80);
    expect(new Set(types)).toEqual(new Set(["counter", "gauge", "histogram"]));
  });

  it("list every metric that the two programs have", () => {
    const texts = globSync(programs)
      .filter((path) => !path.endsWith(".test.ts"))
      .map((path) => readFileSync(path, "utf8"));
    const prefixes = "rouse|agent_sandbox|sandbox_router|controller_runtime|workqueue|rest_client|leader_election";
    const named = texts.flatMap((text) => [...text.matchAll(new RegExp(`"((?:${prefixes})_\\w+)"`, "g"))]);
    expect(named.length).toBeGreaterThan(80);
    const page = pages.get("metrics.md") ?? "";
    expect(named.map(([, name]) => name).filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
  });

  it("leave no value, field or flag without a meaning", () => {
    for (const [name, text] of pages) {
      const empty = text.split("\n").filter((line) => line.endsWith("|  |"));
      if (name !== "chart-values.md") expect(empty, name).toEqual([]);
    }
  });
});

describe("the reasons of events and conditions", () => {
  const ofConditions = [
    ...Object.values(sandboxReasons).flat(),
    ...Object.keys(claimReadyReasons),
    ...Object.keys(memoryReasons),
  ];
  const documented = new Set<string>([...Object.keys(eventReasons), ...ofConditions]);

  /** Where the sources set a reason: in an event or condition, also by a choice of two, and in an error of a claim. */
  const settings = [/\breason: ([^,{}]+)/g, /\bnormal\(\w+, ("\w+")/g, /\bClaimProblem\(("\w+")/g, /\bsuper\(("\w+")/g];

  it("are documented when the controller uses them", () => {
    const set = sources.flatMap((text) => settings.flatMap((setting) => [...text.matchAll(setting)]));
    const written = set.flatMap(([, value = ""]) => [...value.matchAll(/(?<!=== )"([A-Z]\w+)"/g)]);
    const reasons = new Set(written.map(([, reason = ""]) => reason));
    expect(reasons.size).toBeGreaterThan(45);
    for (const reason of [
      "TcpFrontPortsExhausted",
      "SandboxAdopted",
      "VolumeClaimTemplatesError",
      "AdoptionConflict",
    ]) {
      expect(reasons).toContain(reason);
    }
    expect([...reasons].filter((reason) => !documented.has(reason))).toEqual([]);
  });

  it("are used by the controller when they are documented", () => {
    const isUsed = (reason: string) => sources.some((text) => new RegExp(`(?<![!=]== )"${reason}"`).test(text));
    expect([...documented].filter((reason) => !isUsed(reason))).toEqual([]);
  });
});
