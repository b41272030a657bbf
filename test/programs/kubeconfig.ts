import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes a kubeconfig for an API server without authentication; returns its path. */
export function writeKubeconfig(directory: string, server: string, file = "kubeconfig"): string {
  const path = join(directory, file);
  const name = "here";
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
  writeFileSync(path, JSON.stringify(config)); // JSON is YAML
  return path;
}
