import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";

/** Calls by what they were, such as `patch sandboxes/status`. */
export type Calls = ReadonlyMap<string, number>;

interface AuditedRequest {
  readonly verb: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
}

const isWork = (words: string) => !words.startsWith("watch ") && !words.includes("leases");

/**
 * Counts what a user asks of the API server from now on, by the API server's own record; watches and the lease apart. The name is
 * the last part of a ServiceAccount's. The record may begin a new file meanwhile, once.
 */
export function countCalls(auditLog: string, user = "agent-sandbox-controller"): () => Calls {
  const file = openSync(auditLog, "r");
  const from = fstatSync(file).size;
  return () => {
    const buffer = Buffer.alloc(Math.max(0, fstatSync(file).size - from));
    readSync(file, buffer, 0, buffer.length, from);
    const rest = statSync(auditLog).ino === fstatSync(file).ino ? "" : readFileSync(auditLog, "utf8");
    closeSync(file);
    const calls = new Map<string, number>();
    // The last line may be half written.
    for (const line of (buffer.toString() + rest).split("\n").slice(0, -1)) {
      if (!line.includes(`:${user}"`)) continue;
      const { verb, objectRef = {} }: AuditedRequest = JSON.parse(line);
      const { resource, subresource } = objectRef;
      const words = `${verb} ${resource}${subresource ? `/${subresource}` : ""}`;
      if (isWork(words)) calls.set(words, (calls.get(words) ?? 0) + 1);
    }
    return calls;
  };
}

/** A Markdown table of how many calls there were for each of `count` things. */
export function callsTable(calls: Calls, count: number, what: string): string {
  const rows = [...calls].sort(([, a], [, b]) => b - a);
  const total = rows.reduce((sum, [, each]) => sum + each, 0);
  return [
    `| API calls of the controller | per ${what} |`,
    "| --- | ---: |",
    ...rows.map(([words, each]) => `| ${words} | ${(each / count).toFixed(2)} |`),
    `| **all** | **${(total / count).toFixed(2)}** |`,
    "",
  ].join("\n");
}
