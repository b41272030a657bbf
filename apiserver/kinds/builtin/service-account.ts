import { bool, described, listMapOf, listOf, object, text } from "../../../api/crd/shapes.ts";
import { serviceAccountType } from "../../../api/kinds/core.ts";
import type { KubeObject } from "../../../api/kinds/meta.ts";
import { kindSchema } from "../metadata/schema.ts";
import { builtinKind } from "./builtin-kind.ts";
import { ageColumn, column, nameColumn } from "./columns.ts";

type ServiceAccount = KubeObject & { readonly secrets?: unknown };

export const serviceAccountKind = builtinKind({
  type: serviceAccountType,
  shortNames: ["sa"],
  schema: kindSchema("ServiceAccount is who a Pod is towards the API server.", {
    secrets: listMapOf(object({ name: text, namespace: text, kind: text, uid: text }), "name"),
    imagePullSecrets: listOf(object({ name: text })),
    automountServiceAccountToken: described("Whether Pods get a token by default.", bool),
  }),
  columns: [
    nameColumn,
    column<ServiceAccount>("Secrets", ({ secrets }) => (Array.isArray(secrets) ? secrets.length : 0), "integer"),
    ageColumn,
  ],
});
