// The output of local mode, as pure functions.
import { rows } from "../lib/data/rows.ts";

export interface Addresses {
  readonly api: string;
  readonly kubeconfig: string;
  readonly activator: string;
  /** The address of the by-name listener, without a scheme; absent: disabled. */
  readonly byName?: string;
  readonly metrics: string;
  readonly domain: string;
}

export function describeAddresses({ api, kubeconfig, activator, byName, metrics }: Addresses): string {
  return rows([
    ["API server", api],
    ["activator", activator],
    ...(byName === undefined ? [] : [["by name", byName] as const]),
    ["metrics", metrics],
    ["kubeconfig", kubeconfig],
  ]).concat("\nSandboxes are plain processes of this machine, without isolation.\n");
}

export function describeNextSteps({ activator, kubeconfig, domain }: Addresses, examples: boolean): string {
  const hello = activator.replace("127.0.0.1", `hello.default.${domain}`);
  const own = [`export KUBECONFIG=${quoted(kubeconfig)}`, "kubectl get sandboxes"];
  const demo = [
    `curl ${hello}/                 # or open it in a browser`,
    `curl -N ${hello}/events`,
    "kubectl describe sandbox hello",
    `kubectl patch sandbox hello --type merge -p '{"spec":{"operatingMode":"Suspended"}}'`,
    `curl -X POST ${hello}/counter   # suspended again: this wakes it, and the counter is intact`,
    "kubectl get sandboxes -o wide -w   # without requests it is suspended after 30 s",
    `kubectl patch sandbox hello --type merge -p '{"spec":{"service":true}}'`,
    "kubectl get service hello   # any TCP connection to this address wakes it too",
  ];
  return `Try next, in another terminal:\n\n${[...own, ...(examples ? demo : [])].map((line) => `  ${line}`).join("\n")}\n`;
}

/** What local mode says when its start takes long. `late`: the programs that have not read their objects. */
export function describeLateStart(late: readonly string[], kubeconfig: string): string {
  const who = `These parts have not read all objects yet: ${late.join(", ")}.`;
  return `Still starting. ${who} The log says why. The API server answers already:\n\n  kubectl --kubeconfig=${quoted(kubeconfig)} get all\n`;
}

/** A text as one word of a shell. */
const quoted = (text: string): string => (/^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** What local mode says when it stops. `dataDir`: undefined for a temporary folder. */
export function describeStop(dataDir: string | undefined): string {
  const kept = "Objects, volumes and logs stay in";
  return dataDir === undefined ? "Stopping ..." : `Stopping ... ${kept} ${dataDir}; --ephemeral keeps nothing.`;
}

/** The message about a start without space on the disk. `dataDir`: undefined for a temporary folder. */
export function describeFullDisk(dataDir: string | undefined): string {
  const where = dataDir === undefined ? "for temporary files" : `of the data directory ${dataDir}`;
  return `the disk ${where} is full; free some space, or choose another directory with --data-dir`;
}

/** The message about an example that this machine cannot run. */
export const describeMissingProgram = ({ sandbox, program }: { readonly sandbox: string; readonly program: string }) =>
  `The sandbox ${sandbox} cannot start: this machine does not have the program ${program}.`;

/** The message about a port that is in use or not permitted, with the flag that changes it. */
export function describeTakenPort(port: number, what: string, flagName: string): string {
  return `port ${port} for the ${what} is in use, or this user has no right to it; choose another with ${flagName} (0 means any)`;
}
