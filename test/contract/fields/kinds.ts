import { customResourceDefinitions } from "../../../api/crd/definitions.ts";
import type { JsonSchema } from "../../../api/crd/json-schema.ts";
import { minimal } from "./minimal.ts";
import { type Place, placesOf } from "./walk.ts";

export interface KindUnderTest {
  readonly apiVersion: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly spec: readonly Place[];
  readonly status: readonly Place[];
  /** The smallest valid object of the kind. */
  readonly least: (name: string) => object;
}

export function kindsUnderTest(): readonly KindUnderTest[] {
  return customResourceDefinitions().flatMap(({ spec: { group, names, versions } }) =>
    versions.map(({ name: version, schema: { openAPIV3Schema: root } }): KindUnderTest => {
      const apiVersion = `${group}/${version}`;
      const { spec = {}, status } = root.properties ?? {};
      const head = { apiVersion, kind: names.kind };
      const places = (field: string, schema: JsonSchema, holding: Place["holding"]) => [
        ...placesOf({ path: field, schema, holding }),
      ];
      return {
        ...head,
        version,
        resource: names.plural,
        spec: places("spec", spec, (value) => ({ ...head, metadata: { name: "fields" }, spec: value })),
        status: status ? places("status", status, (value) => ({ status: value })) : [],
        least: (name) => ({ ...head, metadata: { name }, spec: minimal(spec) }),
      };
    }),
  );
}
