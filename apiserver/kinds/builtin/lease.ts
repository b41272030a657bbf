import { described, int32, object, text, time } from "../../../api/crd/shapes.ts";
import { type Lease, leaseType } from "../../../api/kinds/core.ts";
import type { StatusCause } from "../../../api/kinds/meta.ts";
import { kindSchema } from "../metadata/schema.ts";
import { invalid } from "../schema/causes.ts";
import { builtinKind } from "./builtin-kind.ts";
import { ageColumn, column, nameColumn } from "./columns.ts";

export const leaseKind = builtinKind({
  type: leaseType,
  schema: kindSchema("Lease says who holds something, and until when.", {
    spec: object({
      holderIdentity: described("The current holder.", text),
      leaseDurationSeconds: described("Seconds after renewTime during which no other holder may take it.", int32),
      acquireTime: described("Time at which the holder acquired it.", time),
      renewTime: described("Time of the holder's last renewal.", time),
      leaseTransitions: described("Number of changes of the holder.", int32),
      strategy: described("The strategy that selects a holder.", text),
      preferredHolder: described("The holder that should take over.", text),
    }),
  }),
  columns: [nameColumn, column<Lease>("Holder", ({ spec }) => spec?.holderIdentity ?? ""), ageColumn],
  check: (lease) => checkSpec((lease as Lease).spec ?? {}),
});

function checkSpec({ leaseDurationSeconds, leaseTransitions }: NonNullable<Lease["spec"]>): readonly StatusCause[] {
  return [
    ...(leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0
      ? [invalid("spec.leaseDurationSeconds", leaseDurationSeconds, "must be greater than 0")]
      : []),
    ...(leaseTransitions !== undefined && leaseTransitions < 0
      ? [invalid("spec.leaseTransitions", leaseTransitions, "must be greater than or equal to 0")]
      : []),
  ];
}
