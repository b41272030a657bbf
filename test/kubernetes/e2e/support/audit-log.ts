import { existsSync, globSync, readFileSync } from "node:fs";
import { clusterLayout } from "./components.ts";

/** One request, as kube-apiserver has written it down (`audit.k8s.io/v1`). */
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

/** Tests with the token of a program, and the existing controller, whose account has the same name: it is written in Go. */
const ofOthers = /^(undici|rouse-test)| kubernetes\//;

/** What one of our programs has asked for since the log began; not what others have asked for under its name. */
export function requestsOf(program: keyof typeof programs): readonly AuditedRequest[] {
  const { auditLog } = clusterLayout();
  if (!existsSync(auditLog)) throw new Error(`there is no audit log at ${auditLog}`);
  const user = `:${programs[program]}"`;
  // What was full is kept beside it, with its time in its name. The last line may be half written.
  const files = [...globSync(auditLog.replace(/\.log$/, "-*.log")).sort(), auditLog];
  const lines = files.flatMap((file) => readFileSync(file, "utf8").split("\n").slice(0, -1));
  // Most lines are others': reading each as JSON would take longer than the tests.
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
