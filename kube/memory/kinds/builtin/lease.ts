import { type Lease, leaseType } from "../../../../api/core.ts";
import { described, int32, object, text, time } from "../../../../api/crd/shapes.ts";
import type { StatusCause } from "../../../../api/meta.ts";
import { kindSchema } from "../metadata/schema.ts";
import { invalid } from "../schema/causes.ts";
import { builtinKind } from "./builtin-kind.ts";
import { ageColumn, column, nameColumn } from "./columns.ts";

export const leaseKind = builtinKind({
  type: leaseType,
  schema: kindSchema("Lease says who holds something, and until when.", {
    spec: object({
      holderIdentity: described("Who holds it.", text),
      leaseDurationSeconds: described("Seconds after renewTime for which others leave it alone.", int32),
      acquireTime: described("When the holder got it.", time),
      renewTime: described("When the holder last said that it is there.", time),
      leaseTransitions: described("How often it changed hands.", int32),
      strategy: described("How a holder is picked.", text),
      preferredHolder: described("Who should hold it instead.", text),
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
