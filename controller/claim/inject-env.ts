import { effectiveEnvVarsInjectionPolicy } from "../../api/defaults.ts";
import type { Container, EnvVar, PodSpec } from "../../api/pod.ts";
import type { ClaimEnvVar, SandboxClaimSpec } from "../../api/sandbox-claim.ts";
import type { InjectionPolicy, SandboxTemplateSpec } from "../../api/sandbox-template.ts";
import { ClaimProblem } from "./claim-problem.ts";

/**
 * The Pod with a claim's variables in its containers, as the template allows.
 *
 * @throws ClaimProblem where it does not.
 * @throws Error for a container that is not there, or a variable that may not be overridden.
 */
export function injectEnv(
  podSpec: PodSpec,
  template: Pick<SandboxTemplateSpec, "envVarsInjectionPolicy">,
  claim: Pick<SandboxClaimSpec, "env">,
): PodSpec {
  const { env = [] } = claim;
  if (env.length === 0) return podSpec;
  const policy = effectiveEnvVarsInjectionPolicy(template);
  if (policy === "Disallowed") throw rejected("the SandboxTemplate does not allow a claim to bring variables");
  const perContainer = byContainer(podSpec, env);
  const inject = (container: Container) => injectInto(container, perContainer.get(container.name), policy);
  const { initContainers } = podSpec;
  return {
    ...podSpec,
    containers: podSpec.containers.map(inject),
    ...(initContainers && { initContainers: initContainers.map(inject) }),
  };
}

/** Which container gets what; variables that name no container come after those that name the first one. */
function byContainer(
  { containers, initContainers = [] }: PodSpec,
  env: readonly ClaimEnvVar[],
): ReadonlyMap<string, readonly ClaimEnvVar[]> {
  const first = containers[0]?.name ?? "";
  const known = new Set([...containers, ...initContainers].map(({ name }) => name));
  const targeted = env.filter(({ containerName }) => containerName);
  const others = env.filter(({ containerName }) => !containerName);
  const grouped = new Map<string, ClaimEnvVar[]>();
  for (const variable of [...targeted, ...others]) {
    const container = variable.containerName || first;
    if (!known.has(container)) {
      throw new Error(`environment variable ${variable.name} is for container ${container}, which does not exist`);
    }
    grouped.set(container, [...(grouped.get(container) ?? []), variable]);
  }
  return grouped;
}

function injectInto(
  container: Container,
  variables: readonly ClaimEnvVar[] | undefined,
  policy: Exclude<InjectionPolicy, "Disallowed">,
): Container {
  if (!variables) return container;
  // What a source of many variables holds is not known here, so nothing could be said about overriding.
  if (policy === "Allowed" && (container.envFrom ?? []).length > 0) {
    throw rejected(`container ${container.name} takes variables from envFrom, where the policy must be Overrides`);
  }
  const env = new Map<string, EnvVar>((container.env ?? []).map((variable) => [variable.name, variable]));
  for (const { name, value } of variables) {
    if (env.has(name) && policy === "Allowed") {
      throw new Error(`environment variable override is not allowed: ${name} of container ${container.name}`);
    }
    env.set(name, { name, value });
  }
  return { ...container, env: [...env.values()] };
}

const rejected = (message: string) => new ClaimProblem("EnvVarsInjectionRejected", message);
