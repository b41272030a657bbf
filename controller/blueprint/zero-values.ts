/** Where false or 0 says no more than nothing; elsewhere in a Pod it says something of its own, such as a user ID of 0. */
const zeroIsNothing = new Set([
  ...["hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "readOnly", "hostPort", "partition"],
  ...["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"],
]);

/** Maps of a Pod, by whose keys something is told even where the value is empty. */
const maps = new Set([
  ...["nodeSelector", "matchLabels", "limits", "requests", "overhead"],
  ...["volumeAttributes", "options", "userAnnotations"],
]);

/**
 * A part of a Pod without empty texts, false and 0 where they say nothing. Programs with types for Pods leave those out
 * when they write one, so of two that mean the same one may have them and the other not.
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
