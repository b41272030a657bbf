/** The annotation by which Helm keeps an object that a release no longer has. */
export const helmPolicy = { key: "helm.sh/resource-policy", keep: "keep" } as const;

/**
 * A definition takes all its objects with it: every sandbox, its Pod and its volumes. By these annotations, an installer
 * that no longer has a definition in its input leaves it where it is. Each reads them from the object in the cluster.
 */
export const keptByInstallers: Readonly<Record<string, string>> = {
  [helmPolicy.key]: helmPolicy.keep,
  "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
  "kustomize.toolkit.fluxcd.io/prune": "disabled",
};
