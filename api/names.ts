import { sandboxNameHashLabel, warmPoolSandboxLabel } from "./keys.ts";

const utf8 = new TextEncoder();

/** FNV-1a of the UTF-8 bytes, 32 bits, as eight lower-case hex digits: how names become label values. */
export function nameHash(name: string): string {
  let hash = 0x811c9dc5;
  for (const byte of utf8.encode(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** Whether a text is a DNS label (RFC 1123): what Services and namespaces are called. */
export const isDnsLabel = (text: string): boolean => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);

/** Whether a text is a DNS subdomain (RFC 1123): what Sandboxes, Pods and claims are called. */
export const isDnsSubdomain = (text: string): boolean =>
  text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text);

/** The PersistentVolumeClaim of one entry of `volumeClaimTemplates`. */
export const volumeClaimName = (templateName: string, sandboxName: string): string => `${templateName}-${sandboxName}`;

/** The DNS name of a Service inside the cluster. */
export const serviceFqdn = (serviceName: string, namespace: string, clusterDomain: string): string =>
  `${serviceName}.${namespace}.svc.${clusterDomain}`;

/** The selector of everything that a Sandbox owns; its `status.selector`. */
export const sandboxSelector = (sandboxName: string): string => `${sandboxNameHashLabel}=${nameHash(sandboxName)}`;

/** The selector of a pool's members; its `status.selector`. */
export const warmPoolSelector = (poolName: string): string => `${warmPoolSandboxLabel}=${nameHash(poolName)}`;

/** What every pool is called that stands for a template alone, for claims of `v1alpha1` that name no pool. */
export const migrationPoolPrefix = "shadow-pool-";

export const migrationPoolName = (templateName: string): string => `${migrationPoolPrefix}${templateName}`;
