import { customResourceDefinitionType } from "../../../api/kinds/core.ts";
import { kindSchema } from "../metadata/schema.ts";
import { anything } from "../schema/shapes.ts";
import { builtinKind } from "./builtin-kind.ts";
import { column, nameColumn } from "./columns.ts";

/** Read-only: a server serves the kinds that it was started with. */
export const customResourceDefinitionKind = builtinKind({
  type: customResourceDefinitionType,
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  hasStatus: true,
  readOnly: true,
  schema: kindSchema("CustomResourceDefinition describes a kind that is not built in.", {
    spec: anything,
    status: anything,
  }),
  columns: [nameColumn, column("Created At", ({ metadata }) => metadata.creationTimestamp ?? "")],
});
