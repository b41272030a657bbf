import { eventType } from "../../../api/kinds/core.ts";
import type { KubeObject, StatusCause } from "../../../api/kinds/meta.ts";
import type { ResourceType } from "../../../api/kinds/resource-type.ts";
import type { ServedKind } from "../../served-kind.ts";
import { ageSince } from "../age.ts";
import { kindSchema } from "../metadata/schema.ts";
import { invalid, required } from "../schema/causes.ts";
import { type BuiltinKind, builtinKind } from "./builtin-kind.ts";
import { column, nameColumn, wideColumn } from "./columns.ts";
import { coreEventProperties, eventProperties } from "./event-schema.ts";

interface CoreEvent extends KubeObject {
  readonly involvedObject?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly source?: { readonly component?: string; readonly host?: string };
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
  readonly count?: number;
  readonly eventTime?: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
}

const coreEventType: ResourceType<CoreEvent> = {
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
};

/** The names of the same fields in both versions of an event: `v1` on the left, `events.k8s.io/v1` on the right. */
const spellings = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
] as const;

const toCore = new Map<string, string>(spellings.map(([core, other]) => [other, core]));
const fromCore = new Map<string, string>(spellings);

function respell(object: KubeObject, names: ReadonlyMap<string, string>, apiVersion: string): KubeObject {
  const entries = Object.entries(object).map(([key, value]) => [names.get(key) ?? key, value]);
  return { ...Object.fromEntries(entries), apiVersion, kind: "Event" };
}

const coreOf = (object: KubeObject): CoreEvent => respell(object, toCore, "v1") as CoreEvent;

const shared: Pick<BuiltinKind, "shortNames" | "columns" | "selectableFields"> = {
  shortNames: ["ev"],
  columns: [
    column("Last Seen", (event, now) => ageSince(lastSeen(coreOf(event)), now)),
    column("Type", (event) => coreOf(event).type ?? ""),
    column("Reason", (event) => coreOf(event).reason ?? ""),
    column("Object", (event) => objectText(coreOf(event))),
    wideColumn("Subobject", (event) => coreOf(event).involvedObject?.["fieldPath"] ?? ""),
    wideColumn("Source", (event) => sourceText(coreOf(event))),
    column("Message", (event) => (coreOf(event).message ?? "").trim()),
    wideColumn("First Seen", (event, now) => ageSince(firstSeen(coreOf(event)), now)),
    wideColumn("Count", (event) => times(coreOf(event)), "integer"),
    { ...nameColumn, priority: 1 },
  ],
  selectableFields: (event) => selectable(coreOf(event)),
};

export const coreEventKind: ServedKind = builtinKind({
  ...shared,
  type: coreEventType,
  schema: kindSchema("Event reports what happened to an object.", coreEventProperties),
  complete: withSource,
  check: (event) => checkNamespaces(event as CoreEvent),
});

export const eventKind: ServedKind = builtinKind({
  ...shared,
  type: eventType,
  schema: kindSchema("Event reports what happened to an object.", eventProperties),
  view: {
    of: coreEventType,
    toStored: coreOf,
    fromStored: (object) => respell(object, fromCore, "events.k8s.io/v1"),
  },
  check: (event) => checkReported(coreOf(event)),
});

function withSource(object: KubeObject): KubeObject {
  const event = object as CoreEvent;
  return { source: {}, reportingComponent: "", reportingInstance: "", ...event } as KubeObject;
}

function checkNamespaces({ metadata, involvedObject }: CoreEvent): readonly StatusCause[] {
  const about = involvedObject?.["namespace"];
  if (!about || about === metadata.namespace) return [];
  return [invalid("involvedObject.namespace", about, "does not match event.namespace")];
}

/** Events with an eventTime use the new form and must name their reporter. */
function checkReported(event: CoreEvent): readonly StatusCause[] {
  if (!event.eventTime) return [required("eventTime")];
  return [
    ...(event.reportingComponent ? [] : [required("reportingController")]),
    ...(event.reportingInstance ? [] : [required("reportingInstance")]),
    ...(event.reason ? [] : [required("reason")]),
  ];
}

const lastSeen = ({ series, lastTimestamp, eventTime, metadata }: CoreEvent): string | undefined =>
  series?.lastObservedTime || lastTimestamp || eventTime || metadata.creationTimestamp;

const firstSeen = ({ firstTimestamp, eventTime, metadata }: CoreEvent): string | undefined =>
  firstTimestamp || eventTime || metadata.creationTimestamp;

const times = ({ series, count }: CoreEvent): number => series?.count ?? (count || 1);

function objectText({ involvedObject = {} }: CoreEvent): string {
  return `${(involvedObject["kind"] ?? "").toLowerCase()}/${involvedObject["name"] ?? ""}`;
}

function sourceText({ source, reportingComponent, reportingInstance }: CoreEvent): string {
  const component = source?.component || reportingComponent || "";
  const host = source?.host || reportingInstance;
  return host ? `${component}, ${host}` : component;
}

function selectable(event: CoreEvent): Readonly<Record<string, string>> {
  const about = event.involvedObject ?? {};
  const parts = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
  const source = event.source?.component || event.reportingComponent || "";
  return {
    ...Object.fromEntries(parts.map((part) => [`involvedObject.${part}`, about[part] ?? ""])),
    ...Object.fromEntries(parts.map((part) => [`regarding.${part}`, about[part] ?? ""])),
    reason: event.reason ?? "",
    reportingComponent: event.reportingComponent ?? "",
    reportingController: event.reportingComponent ?? "",
    source,
    type: event.type ?? "",
  };
}
