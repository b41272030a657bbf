import { described, listOf, mapOf, object, quantity, text, withDefault } from "../../../api/crd/shapes.ts";
import { storageClaimSpec } from "../../../api/crd/storage-claim.ts";
import { type PersistentVolumeClaim, persistentVolumeClaimType } from "../../../api/kinds/core.ts";
import type { KubeObject, StatusCause } from "../../../api/kinds/meta.ts";
import { ownField } from "../../../lib/data/own-fields.ts";
import { sameJson } from "../../json-values.ts";
import { kindSchema } from "../metadata/schema.ts";
import { forbidden, notSupported, required } from "../schema/causes.ts";
import { anything, conditions } from "../schema/shapes.ts";
import { builtinKind } from "./builtin-kind.ts";
import { ageColumn, column, nameColumn, wideColumn } from "./columns.ts";

interface Claim extends Omit<PersistentVolumeClaim, "status"> {
  readonly status?: {
    readonly phase?: string;
    readonly accessModes?: readonly string[];
    readonly capacity?: Readonly<Record<string, string>>;
  };
}

const volumeMode = withDefault(text, "Filesystem");

export const volumeClaimKind = builtinKind({
  type: persistentVolumeClaimType,
  shortNames: ["pvc"],
  hasStatus: true,
  schema: kindSchema("PersistentVolumeClaim asks for a volume that outlives the Pods that use it.", {
    spec: { ...storageClaimSpec, properties: { ...storageClaimSpec.properties, volumeMode } },
    status: object({
      phase: described("Pending, Bound or Lost.", text),
      accessModes: listOf(text),
      capacity: mapOf(quantity),
      conditions,
      allocatedResources: mapOf(quantity),
      allocatedResourceStatuses: mapOf(text),
      currentVolumeAttributesClassName: text,
      modifyVolumeStatus: anything,
    }),
  }),
  columns: [
    nameColumn,
    column("Status", claimStatus),
    column<Claim>("Volume", ({ spec }) => spec?.volumeName ?? ""),
    column<Claim>("Capacity", ({ spec, status }) => (spec?.volumeName ? (status?.capacity?.["storage"] ?? "") : "")),
    column<Claim>("Access Modes", ({ spec, status }) =>
      spec?.volumeName ? shortModes(status?.accessModes ?? []) : "",
    ),
    column<Claim>("StorageClass", ({ spec }) => spec?.storageClassName ?? ""),
    column("VolumeAttributesClass", () => "<unset>"),
    ageColumn,
    wideColumn<Claim>("VolumeMode", ({ spec }) => spec?.volumeMode ?? "<unset>"),
  ],
  complete: (object) => {
    const claim = object as PersistentVolumeClaim;
    return { ...claim, status: { ...claim.status, phase: claim.status?.phase ?? "Pending" } } as KubeObject;
  },
  check: (claim, { old }) => checkClaim(claim as PersistentVolumeClaim, old as PersistentVolumeClaim | undefined),
});

function claimStatus(object: KubeObject): string {
  return object.metadata.deletionTimestamp ? "Terminating" : ((object as Claim).status?.phase ?? "");
}

const modes: Readonly<Record<string, string>> = {
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOnce: "RWO",
  ReadWriteOncePod: "RWOP",
};

const shortModes = (names: readonly string[]): string => names.map((name) => ownField(modes, name) ?? name).join(",");

function checkClaim(
  { spec = {} }: PersistentVolumeClaim,
  old: PersistentVolumeClaim | undefined,
): readonly StatusCause[] {
  const { accessModes = [], resources } = spec;
  return [
    ...(accessModes.length === 0 ? [required("spec.accessModes", "at least 1 access mode is required")] : []),
    ...accessModes
      .filter((mode) => !Object.hasOwn(modes, mode))
      .map((mode) => notSupported("spec.accessModes", mode, Object.keys(modes))),
    ...(resources?.requests?.["storage"] === undefined ? [required("spec.resources[storage]")] : []),
    ...(old && !sameJson(fixed(spec), fixed(old.spec ?? {})) ? [forbidden("spec", immutable)] : []),
  ];
}

const immutable =
  "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

/** The volume name may be set once; the size may grow. */
function fixed({
  resources: _resources,
  volumeName: _name,
  ...rest
}: NonNullable<PersistentVolumeClaim["spec"]>): object {
  return rest;
}
