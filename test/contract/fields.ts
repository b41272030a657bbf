import { createHash } from "node:crypto";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AnyObject, ContractApi, OpenContractApi, Reply } from "./contract-api.ts";
import { type FieldCase, fieldCases } from "./fields/cases.ts";
import { bodyText } from "./fields/json-text.ts";
import { kindsUnderTest } from "./fields/kinds.ts";
import { isKnownDifference } from "./fields/known-differences.ts";
import { sample } from "./fields/sample.ts";

const seed = 20_260_101;
const casesMax = 600;
const atOnce = 8;
const limitMs = 60_000;
const existing = "existing";
/** An absolute path. A relative one would be resolved for each test file, and each would have its own file. */
const verdictsPath = join(import.meta.dirname, "fields", "verdicts.txt");

/**
 * The answers of an API server to values at the limits of each field. The file has the answers of kube-apiserver:
 * `npm run test:kubernetes` with `-u` writes it, and all other runs compare with it.
 */
export function describeFields(where: string, open: OpenContractApi): void {
  describe(`the fields of our kinds in ${where}`, () => {
    it(
      "take and refuse the values that kube-apiserver takes and refuses",
      async () => {
        await using api = await open();
        for (const kind of kindsUnderTest()) {
          const body = bodyText(kind.least(`${existing}-${kind.version}`));
          expect((await api.call("POST", pathOf(api, kind), { body })).code, `${kind.kind} ${kind.version}`).toBe(201);
        }
        const cases = sample(
          fieldCases().filter((one) => !isKnownDifference(one.title)),
          casesMax,
          seed,
        );
        const verdicts = await inLanes(cases, async (one) => `${one.title} -> ${verdictOf(one, await ask(api, one))}`);
        await expect(`${verdicts.join("\n")}\n`).toMatchFileSnapshot(verdictsPath);
      },
      limitMs,
    );
  });
}

const pathOf = (
  { namespace }: ContractApi,
  { apiVersion, resource }: Pick<FieldCase["kind"], "apiVersion" | "resource">,
) => `/apis/${apiVersion}/namespaces/${namespace}/${resource}`;

/** A dry run of the request, which leaves the namespace unchanged. */
function ask(api: ContractApi, { kind, part, body }: FieldCase): Promise<Reply> {
  const path = pathOf(api, kind);
  if (part === "spec") return api.call("POST", `${path}?dryRun=All`, { body });
  const contentType = "application/merge-patch+json";
  return api.call("PATCH", `${path}/${existing}-${kind.version}/status?dryRun=All`, { body, contentType });
}

function verdictOf({ kind, part, body }: FieldCase, reply: Reply): string {
  if (reply.code >= 300) return `${reply.code} at ${fieldsOf(reply).join(", ")}`;
  // The preserved fields of the older version belong to the conversion, which has its own tests.
  return kind.version === "v1alpha1" ? "taken" : `taken ${keptOf(reply.object[part], JSON.parse(body)[part])}`;
}

/**
 * The rejected fields. Some errors name no field, or the whole status, and an error of a field covers the fields below it:
 * the scale subresource repeats it in another form.
 */
function fieldsOf({ status }: Reply): readonly string[] {
  const named = (status.details?.causes ?? []).map(({ field = "" }) => field.replace(/^\./, ""));
  const fields = [...new Set(named)].filter((field) => field !== "<nil>" && field !== "status");
  return fields.filter((field) => !fields.some((other) => field.startsWith(`${other}.`))).sort();
}

function keptOf(kept: AnyObject[string], sent: unknown): string {
  const text = sortedText(kept);
  if (text === sortedText(sent)) return "as it was sent";
  return text.length <= 160
    ? `as ${text}`
    : `as something of SHA-256 ${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}

const sortedText = (value: unknown): string => JSON.stringify(sorted(value)) ?? "nothing";

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, sorted(one)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function inLanes<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const lane = async () => {
    for (const [at, item] of entries) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return results;
}
