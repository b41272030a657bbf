import type { JsonSchema } from "../../../api/crd/json-schema.ts";
import { minimal } from "./minimal.ts";

/** One field in an object, and the smallest object with a value there. */
export interface Place {
  /** The path in error messages: `spec.env[0].name`. */
  readonly path: string;
  readonly schema: JsonSchema;
  readonly holding: (value: unknown) => object;
}

/** `place` and all fields below it. */
export function* placesOf(place: Place): Generator<Place, void> {
  yield place;
  const { path, schema, holding } = place;
  for (const [key, child] of Object.entries(schema.properties ?? {})) {
    const within = (value: unknown) => holding({ ...(minimal(schema) as object), [key]: value });
    yield* placesOf({ path: `${path}.${key}`, schema: child, holding: within });
  }
  if (schema.items) {
    yield* placesOf({ path: `${path}[0]`, schema: schema.items, holding: (value) => holding([value]) });
  }
  if (schema.additionalProperties) {
    const within = (value: unknown) => holding({ key: value });
    yield* placesOf({ path: `${path}.key`, schema: schema.additionalProperties, holding: within });
  }
}
