import type { SandboxClaimSpec } from "../../../api/kinds/sandbox-claim.ts";
import { safeToEvictAnnotation } from "../../../api/rules/keys.ts";
import { isDnsSubdomain } from "../../../api/rules/names.ts";
import { byCodeUnits } from "../../../lib/data/by-code-units.ts";
import { ClaimProblem } from "../claim-problem.ts";

/** Domains of the system, in which a claim may not set keys. */
const protectedDomains = ["kubernetes.io", "k8s.io", "agents.x-k8s.io"];

type Check = (key: string, value: string, allowedDomains: readonly string[]) => string | undefined;

/** Reasons to reject a label of a claim's Pod. The first match is reported. */
const labelChecks: readonly Check[] = [notAQualifiedName, posingAsRouter, outsideOfAllowedDomains, notALabelValue];
const annotationChecks: readonly Check[] = [notAQualifiedName, insideProtectedDomain];

/**
 * Validates the Pod metadata that a claim asks for: labels decide which policies and Services select the Pod.
 *
 * @throws ClaimProblem that names the first invalid key, in alphabetical order.
 */
export function validateMetadata(
  { labels, annotations }: NonNullable<SandboxClaimSpec["additionalPodMetadata"]>,
  allowedDomains: readonly string[],
): void {
  refuseAny("label", labels, labelChecks, allowedDomains);
  refuseAny("annotation", annotations, annotationChecks, allowedDomains);
}

function refuseAny(
  what: "label" | "annotation",
  map: Readonly<Record<string, string>> | undefined,
  checks: readonly Check[],
  allowedDomains: readonly string[],
): void {
  for (const [key, value] of Object.entries(map ?? {}).sort(([a], [b]) => byCodeUnits(a, b))) {
    for (const check of checks) {
      const refusal = check(key, value, allowedDomains);
      if (refusal) throw new ClaimProblem("InvalidMetadata", `invalid ${what} ${JSON.stringify(key)}: ${refusal}`);
    }
  }
}

const nameOrValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$/;
const longestNameOrValue = 63;

/** Validation of label and annotation keys in Kubernetes: `[DNS subdomain/]name`. */
function notAQualifiedName(key: string): string | undefined {
  const [name = "", prefix, ...more] = key.split("/").reverse();
  const named = name.length <= longestNameOrValue && nameOrValue.test(name);
  const prefixed = prefix === undefined || isDnsSubdomain(prefix);
  return named && prefixed && more.length === 0 ? undefined : "it is not a qualified name";
}

/** A Pod with the router's label would pass every default network policy. */
function posingAsRouter(key: string, value: string): string | undefined {
  const poses = key.toLowerCase() === "app" && value.toLowerCase() === "sandbox-router";
  return poses ? `the value ${JSON.stringify(value)} is reserved` : undefined;
}

function outsideOfAllowedDomains(key: string, _value: string, allowedDomains: readonly string[]): string | undefined {
  const domain = domainOf(key);
  if (domain === undefined) return `it needs a domain: ${allowedDomains.join(", ")}`;
  return isWithin(domain, allowedDomains) ? undefined : `its domain is none of ${allowedDomains.join(", ")}`;
}

function insideProtectedDomain(key: string): string | undefined {
  const domain = domainOf(key);
  if (domain === undefined || key === safeToEvictAnnotation) return undefined;
  return isWithin(domain, protectedDomains) ? `the domain ${domain} is reserved` : undefined;
}

function notALabelValue(_key: string, value: string): string | undefined {
  if (value.length > longestNameOrValue) return `its value is longer than ${longestNameOrValue} characters`;
  return value === "" || nameOrValue.test(value) ? undefined : "its value is not a label value";
}

function domainOf(key: string): string | undefined {
  const slash = key.indexOf("/");
  return slash < 0 ? undefined : key.slice(0, slash).toLowerCase();
}

const isWithin = (domain: string, domains: readonly string[]): boolean =>
  domains.some((each) => domain === each || domain.endsWith(`.${each}`));
