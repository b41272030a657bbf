/** The annotation by which Helm keeps an object that a release no longer has. */
export const helmPolicy = { key: "helm.sh/resource-policy", keep: "keep" } as const;

/** Argo CD reads many options of all kinds from this one annotation. Each of these two must be among them. */
const syncOptions = "argocd.argoproj.io/sync-options";

/**
 * A definition takes all its objects with it: every sandbox, its Pod and its volumes. By these annotations, an installer
 * that no longer has a definition in its input leaves it where it is. Each reads them from the object in the cluster.
 */
export const keptByInstallers: Readonly<Record<string, string>> = {
  [helmPolicy.key]: helmPolicy.keep,
  [syncOptions]: "Prune=false,Delete=false",
  "kustomize.toolkit.fluxcd.io/prune": "disabled",
};

/** The annotations that an object lacks to be kept, with the values that it gets. Other options of Argo CD stay as they are. */
export function lostKeepers(annotations: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const lost = Object.entries(keptByInstallers).flatMap(([key, keep]) => {
    const value = annotations[key] ?? "";
    const kept = key === syncOptions ? withOptions(value, keep.split(",")) : keep;
    return value === kept ? [] : [[key, kept] as const];
  });
  return Object.fromEntries(lost);
}

/** The same text if it has all the options. An option is replaced by one of the same name. */
function withOptions(text: string, wanted: readonly string[]): string {
  const options = text.split(",").map((option) => option.trim());
  if (wanted.every((option) => options.includes(option))) return text;
  const names = wanted.map(nameOf);
  return [...options.filter((option) => option !== "" && !names.includes(nameOf(option))), ...wanted].join(",");
}

const nameOf = (option: string): string => option.split("=")[0] ?? "";
