/**
 * Fields in which false or 0 means the same as absent. In other fields of a Pod they have a meaning, such as user ID 0.
 */
const zeroIsNothing = new Set([
  ...["hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "readOnly", "hostPort", "partition"],
  ...["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"],
]);

/** Maps in a Pod whose keys count even if the value is empty. */
const maps = new Set([
  ...["nodeSelector", "matchLabels", "limits", "requests", "overhead"],
  ...["volumeAttributes", "options", "userAnnotations"],
]);

/**
 * A part of a Pod without empty strings, and without false and 0 where they mean the same as absent. Typed clients
 * leave these out when they write a Pod, so two equal Pods may differ in them.
 */
export function withoutZeroValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutZeroValues);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([field, member]) => !isNothing(field, member));
  return Object.fromEntries(
    members.map(([field, member]) => [field, maps.has(field) ? member : withoutZeroValues(member)]),
  );
}

const isNothing = (field: string, value: unknown): boolean =>
  value === "" || ((value === false || value === 0) && zeroIsNothing.has(field));
