import { sameQuantity } from "../api/rules/quantity.ts";
import { readTime } from "../api/rules/timestamps.ts";
import { ownField } from "../lib/data/own-fields.ts";

type Compare = (a: string | number, b: string | number) => boolean;

// Where Kubernetes types hold quantities: as the values of these maps, or in these fields themselves.
const quantityMaps = new Set(["requests", "limits", "capacity", "allocatedResources", "overhead", "hard"]);
const quantityFields = new Set(["sizeLimit", "divisor"]);
// Maps whose keys and values are texts of users, whatever they resemble.
const textMaps = new Set([
  "labels",
  "annotations",
  "matchLabels",
  "nodeSelector",
  "volumeAttributes",
  "options",
  "userAnnotations",
]);
// Without terms each selects everything; where it is absent it selects nothing, or what is in the own namespace.
const selectors = ["labelSelector", "namespaceSelector", "podSelector", "selector"];
// Which one an object has, of these of which it has one, is what it is: a source of a volume, or a way to probe. An empty one is one.
const choices = [
  ...["emptyDir", "downwardAPI", "configMap", "secret", "projected", "serviceAccountToken", "clusterTrustBundle"],
  ...["podCertificate", "ephemeral", "persistentVolumeClaim", "csi", "hostPath", "image", "nfs", "iscsi", "fc", "rbd"],
  ...["configMapRef", "secretRef", "exec", "httpGet", "tcpSocket", "grpc", "sleep"],
];
/** In these fields an empty object is not the same as none. */
const countsWhenEmpty = new Set<string | undefined>([...selectors, ...choices]);

/** What the members of an object are: fields of a type, quantities, or texts of users. */
type Members = "fields" | "quantities" | "texts";

/**
 * Whether two values of the Kubernetes API mean the same: absent, null, `{}` and `[]` are equal, but for a selector
 * and a choice such as the source of a volume; quantities are compared by value (`1000m` is `1`) and times by instant, but texts of users, such
 * as labels, as they are. Lists keep their order.
 */
export function semanticallyEqual(a: unknown, b: unknown): boolean {
  return equalIn(a, b, undefined, "fields");
}

function equalIn(a: unknown, b: unknown, field: string | undefined, among: Members): boolean {
  if (Object.is(a, b)) return true;
  if (isScalar(a) && isScalar(b)) return comparison(field, among)(a, b);
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, at) => equalIn(item, b[at], undefined, "fields"));
  }
  if (countsWhenEmpty.has(field) && isAbsent(a) !== isAbsent(b)) return false;
  const left = entriesOf(a);
  const right = entriesOf(b);
  if (!left || !right) return false;
  const members = membersOf(field);
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => equalIn(ownField(left, name), ownField(right, name), name, members));
}

function membersOf(field: string | undefined): Members {
  if (field === undefined) return "fields";
  if (textMaps.has(field)) return "texts";
  return quantityMaps.has(field) ? "quantities" : "fields";
}

/** The members of an object; none for what counts as an empty one; undefined for anything else. */
function entriesOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (isAbsent(value)) return {};
  if (Array.isArray(value)) return value.length === 0 ? {} : undefined;
  return typeof value === "object" ? (value as Record<string, unknown>) : undefined;
}

const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;

const isScalar = (value: unknown): value is string | number => typeof value === "string" || typeof value === "number";

function comparison(field: string | undefined, among: Members): Compare {
  if (among === "texts") return sameText;
  if (among === "quantities" || (field !== undefined && quantityFields.has(field))) return sameQuantity;
  return field !== undefined && /Time(stamp)?$/.test(field) ? sameInstant : sameText;
}

const sameText: Compare = (a, b) => a === b;

/** Of two texts that are no times, only the same text is the same. */
const sameInstant: Compare = (a, b) => {
  if (a === b) return true;
  const [first, second] = [a, b].map((text) => (typeof text === "string" ? readTime(text) : undefined));
  return first !== undefined && first.getTime() === second?.getTime();
};
