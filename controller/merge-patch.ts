type StringMap = Readonly<Record<string, string>>;

/**
 * The RFC 7386 patch that turns one map into another: new and changed values, and null for what goes. Undefined when
 * there is nothing to change.
 */
export function mapPatch(
  from: StringMap | undefined,
  to: StringMap | undefined,
): Readonly<Record<string, string | null>> | undefined {
  const patch: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(to ?? {})) if (from?.[key] !== value) patch[key] = value;
  for (const key of Object.keys(from ?? {})) if (to?.[key] === undefined) patch[key] = null;
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** Only the parts that say something; undefined when none does. */
export function compactPatch(parts: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const said = Object.entries(parts).filter(([, value]) => value !== undefined);
  return said.length > 0 ? Object.fromEntries(said) : undefined;
}
