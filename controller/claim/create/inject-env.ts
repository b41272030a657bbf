import type { Container, EnvVar, PodSpec } from "../../../api/kinds/pod.ts";
import type { ClaimEnvVar, SandboxClaimSpec } from "../../../api/kinds/sandbox-claim.ts";
import type { InjectionPolicy, SandboxTemplateSpec } from "../../../api/kinds/sandbox-template.ts";
import { effectiveEnvVarsInjectionPolicy } from "../../../api/rules/defaults.ts";
import { ClaimProblem } from "../claim-problem.ts";

/**
 * The Pod spec with a claim's variables in its containers, as the template allows.
 *
 * @throws ClaimProblem when the template does not allow variables.
 * @throws Error for a container that does not exist, or a variable that may not be overridden.
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

/** The variables of each container. Variables without a container name go to the first container, after those that name it. */
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
    // Appended, not copied: a claim of 1.5 MiB has 60,000 variables, and a copy for each takes a minute.
    const group = grouped.get(container);
    if (group) group.push(variable);
    else grouped.set(container, [variable]);
  }
  return grouped;
}

function injectInto(
  container: Container,
  variables: readonly ClaimEnvVar[] | undefined,
  policy: Exclude<InjectionPolicy, "Disallowed">,
): Container {
  if (!variables) return container;
  // The keys of an envFrom source are not known here, so an override could not be detected.
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
