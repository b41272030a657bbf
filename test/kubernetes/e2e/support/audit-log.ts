import { existsSync, globSync, readFileSync } from "node:fs";
import { clusterLayout } from "./components.ts";

/** One request in the audit log of kube-apiserver (`audit.k8s.io/v1`). */
export interface AuditedRequest {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
  };
  readonly requestReceivedTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export const programs = { activator: "sandbox-router", controller: "agent-sandbox-controller" } as const;

/** The clients with a program's token that are not the program: tests, and the existing controller, which is written in Go. */
const ofOthers = /^(undici|rouse-test)| kubernetes\//;

/** The requests of one of our programs since the log began, without those of other clients with its name. */
export function requestsOf(program: keyof typeof programs): readonly AuditedRequest[] {
  const { auditLog } = clusterLayout();
  if (!existsSync(auditLog)) throw new Error(`there is no audit log at ${auditLog}`);
  const user = `:${programs[program]}"`;
  // Rotated logs are beside it, with a time in the name. The last line may be incomplete.
  const files = [...globSync(auditLog.replace(/\.log$/, "-*.log")).sort(), auditLog];
  const lines = files.flatMap((file) => readFileSync(file, "utf8").split("\n").slice(0, -1));
  // Most lines are from other clients. Parsing each as JSON would take longer than the tests.
  const ours = lines.filter((line) => line.includes(user));
  const requests = ours.map((line): AuditedRequest => JSON.parse(line));
  return requests.filter(({ user: { username }, userAgent = "" }) => {
    return username.endsWith(`:${programs[program]}`) && !ofOthers.test(userAgent);
  });
}

/** `patch sandboxes/status.agents.x-k8s.io`. */
export function wordsOfRequest({ verb, objectRef = {} }: AuditedRequest): string {
  const { apiGroup, resource = "", subresource } = objectRef;
  return `${verb} ${resource}${subresource ? `/${subresource}` : ""}${apiGroup ? `.${apiGroup}` : ""}`;
}
