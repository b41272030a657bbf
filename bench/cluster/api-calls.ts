import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";

/** The number of calls by verb and resource, such as `patch sandboxes/status`. */
export type Calls = ReadonlyMap<string, number>;

interface AuditedRequest {
  readonly verb: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
}

const isWork = (words: string) => !words.startsWith("watch ") && !words.includes("leases");

/**
 * Counts the calls of a user from now on in the API server's audit log, without watches and the lease. `user` is the last part of
 * a ServiceAccount's name. The audit log may be rotated once meanwhile.
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
    // The last line may be incomplete.
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

/** A Markdown table of the calls for each of `count` items. */
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
