// The output of `npm run cluster`, as pure functions.
import { rows } from "../../lib/data/rows.ts";
import type { KeptMemory } from "./hibernation.ts";

export interface Addresses {
  readonly api: string;
  readonly activator: string;
  readonly kubeconfig: string;
  /** A folder with kubectl and helm. */
  readonly programs: string;
}

export function describeAddresses({ api, activator, kubeconfig, programs }: Addresses): string {
  return rows([
    ["API server", api],
    ["activator", activator],
    ["kubeconfig", kubeconfig],
    ["kubectl, helm", programs],
  ]);
}

/** What `npm run cluster -- --gvisor` tells of a sandbox whose memory was kept. */
export function describeKeptMemory({ before, asleep, after, wake }: KeptMemory): string {
  const { bytes = 0, node, durationMilliseconds } = asleep;
  return rows([
    ["awake", `"${before}"`],
    ["asleep", `${(bytes / 1e6).toFixed(1)} MB of memory on ${node}, captured in ${durationMilliseconds} ms`],
    ["woken", `"${after}"`],
    ["", `restored in ${wake.durationMilliseconds} ms`],
  ]);
}

export interface Release {
  readonly name: string;
  readonly namespace: string;
}

/** Commands that can be copied as they are. `helloHost` is the host name of the example. */
export function describeNextSteps(addresses: Addresses, release: Release, helloHost: string): string {
  const { activator, kubeconfig, programs } = addresses;
  const secret = `kubectl --namespace ${release.namespace} get secret sandbox-router-token`;
  const commands = [
    `export KUBECONFIG=${kubeconfig} PATH=${programs}:$PATH`,
    "kubectl get sandboxes",
    `kubectl patch sandbox hello --type merge -p '{"spec":{"operatingMode":"Suspended"}}'`,
    `TOKEN=$(${secret} --output jsonpath='{.data.token}' | base64 --decode)`,
    `curl -H "Authorization: Bearer $TOKEN" -H 'Host: ${helloHost}' ${activator}/`,
    `helm test ${release.name} --namespace ${release.namespace}`,
  ];
  return `Try next:\n\n${commands.map((line) => `  ${line}`).join("\n")}\n`;
}
