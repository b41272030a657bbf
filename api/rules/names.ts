import { sandboxNameHashLabel, warmPoolSandboxLabel } from "./keys.ts";

const utf8 = new TextEncoder();

/** FNV-1a of the UTF-8 bytes, 32 bits, as eight lower-case hex digits: for names as label values. */
export function nameHash(name: string): string {
  let hash = 0x811c9dc5;
  for (const byte of utf8.encode(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** Whether a text is a DNS label (RFC 1123), as in names of Services and namespaces. */
export const isDnsLabel = (text: string): boolean => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);

/** Whether a text is a DNS subdomain (RFC 1123), as in names of Sandboxes, Pods and claims. */
export const isDnsSubdomain = (text: string): boolean =>
  text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text);

/** The name of the PersistentVolumeClaim for an entry of `volumeClaimTemplates`. */
export const volumeClaimName = (templateName: string, sandboxName: string): string => `${templateName}-${sandboxName}`;

/** A DNS domain as a person may write it, `Cluster.Local.` or `.cluster.local`, in the one form that names are compared in. */
export const plainDomain = (written: string): string => written.toLowerCase().replace(/^\.|\.$/g, "");

/** The DNS name of a Service inside the cluster. */
export const serviceFqdn = (serviceName: string, namespace: string, clusterDomain: string): string =>
  `${serviceName}.${namespace}.svc.${clusterDomain}`;

/** The selector of all objects that a Sandbox owns; its `status.selector`. */
export const sandboxSelector = (sandboxName: string): string => `${sandboxNameHashLabel}=${nameHash(sandboxName)}`;

/** The selector of a pool's members; its `status.selector`. */
export const warmPoolSelector = (poolName: string): string => `${warmPoolSandboxLabel}=${nameHash(poolName)}`;

/** The prefix of pools that represent only a template, for claims of `v1alpha1` without a pool. */
export const migrationPoolPrefix = "shadow-pool-";

export const migrationPoolName = (templateName: string): string => `${migrationPoolPrefix}${templateName}`;

/** The Lease of the leading controller, in the controller's namespace; the existing controller uses the same one. */
export const leaderLeaseName = "a3317529.agent-sandbox.x-k8s.io";
