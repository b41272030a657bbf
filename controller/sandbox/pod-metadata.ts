import { hibernationGroup } from "../../api/kinds/memory-image.ts";
import { controllerOf, type Stored } from "../../api/kinds/meta.ts";
import type { Pod } from "../../api/kinds/pod.ts";
import { groupOf } from "../../api/kinds/resource-type.ts";
import { extensionsGroup, type Sandbox } from "../../api/kinds/sandbox.ts";
import {
  createdByLabel,
  isSystemReservedKey,
  normalizedCreator,
  propagatedAnnotationsAnnotation,
  propagatedLabelsAnnotation,
  sandboxNameHashLabel,
  templateRefHashLabel,
  warmPoolSandboxLabel,
} from "../../api/rules/keys.ts";
import { nameHash } from "../../api/rules/names.ts";
import { compactPatch, mapPatch } from "../merge-patch.ts";
import { policyHashOf } from "../template/policy-users.ts";

type StringMap = Readonly<Record<string, string>>;

/** The labels by which the children of a sandbox are found. */
export const trackingLabels = (sandbox: Stored<Sandbox>): StringMap => ({
  [sandboxNameHashLabel]: nameHash(sandbox.metadata.name),
});

/** Labels and annotations of a new Pod. */
export function newPodMetadata(sandbox: Stored<Sandbox>): {
  readonly labels: StringMap;
  readonly annotations: StringMap;
} {
  const labels = templateKeys(sandbox, "labels");
  const annotations = templateKeys(sandbox, "annotations");
  const lists = {
    [propagatedLabelsAnnotation]: keyList(labels),
    [propagatedAnnotationsAnnotation]: keyList(annotations),
  };
  return {
    labels: { ...labels, ...present(controllerLabels(sandbox)) },
    annotations: { ...annotations, ...present(mapValues(lists, (list) => list || undefined)) },
  };
}

/**
 * The merge patch under `metadata` that updates an existing Pod's labels and annotations; undefined when nothing
 * changes. Keys of other writers stay.
 */
export function podMetadataPatch(sandbox: Stored<Sandbox>, pod: Pod): Readonly<Record<string, unknown>> | undefined {
  const { labels, annotations } = pod.metadata;
  const wantedLabels = {
    ...withoutStale(labels, listedKeys(pod, propagatedLabelsAnnotation), labelsNeverScrubbed),
    ...templateKeys(sandbox, "labels"),
    ...controllerLabels(sandbox),
    // A live Pod never leaves the NetworkPolicy of its template, whatever labels its Sandbox has lost.
    [templateRefHashLabel]: policyHashOf(sandbox) ?? labels?.[templateRefHashLabel],
  };
  const wantedAnnotations = {
    ...withoutStale(annotations, listedKeys(pod, propagatedAnnotationsAnnotation), annotationsNeverScrubbed),
    ...templateKeys(sandbox, "annotations"),
    ...keyLists(sandbox, pod),
  };
  return compactPatch({
    labels: mapPatch(labels, present(wantedLabels)),
    annotations: mapPatch(annotations, present(wantedAnnotations)),
  });
}

const labelsNeverScrubbed: readonly string[] = [sandboxNameHashLabel, templateRefHashLabel];
const annotationsNeverScrubbed: readonly string[] = [propagatedLabelsAnnotation, propagatedAnnotationsAnnotation];

/** The template's keys without those that only the controller sets. */
function templateKeys({ spec }: Sandbox, part: "labels" | "annotations"): StringMap {
  const asked = Object.entries(spec.podTemplate.metadata?.[part] ?? {});
  return Object.fromEntries(asked.filter(([key]) => !isSystemReservedKey(key)));
}

/** The labels that the controller owns; undefined: must be absent. */
function controllerLabels(sandbox: Stored<Sandbox>): Readonly<Record<string, string | undefined>> {
  const { labels = {} } = sandbox.metadata;
  const owner = controllerOf(sandbox);
  const pooled = owner?.kind === "SandboxWarmPool" && groupOf(owner.apiVersion) === extensionsGroup;
  const createdBy = labels[createdByLabel];
  return {
    ...trackingLabels(sandbox),
    [warmPoolSandboxLabel]: (pooled && labels[warmPoolSandboxLabel]) || undefined,
    [templateRefHashLabel]: policyHashOf(sandbox),
    [createdByLabel]: createdBy ? normalizedCreator(createdBy) : undefined,
  };
}

/** The Pod's keys without those of a former template; the caller adds the current ones. */
function withoutStale(map: StringMap | undefined, listed: readonly string[], kept: readonly string[]): StringMap {
  // No release has copied these keys from a template, so a list that names them is forged: a tenant may annotate its Pods.
  const stale = new Set(listed.filter((key) => !kept.includes(key) && !key.startsWith(`${hibernationGroup}/`)));
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !stale.has(key)));
}

/** The two key lists of an existing Pod. An empty list is written only over a non-empty one. */
function keyLists(sandbox: Sandbox, pod: Pod): Readonly<Record<string, string | undefined>> {
  const lists = {
    [propagatedLabelsAnnotation]: keyList(templateKeys(sandbox, "labels")),
    [propagatedAnnotationsAnnotation]: keyList(templateKeys(sandbox, "annotations")),
  };
  return mapValues(lists, (list, key) => list || (pod.metadata.annotations?.[key] === undefined ? undefined : ""));
}

const keyList = (map: StringMap): string => Object.keys(map).sort().join(",");

const listedKeys = (pod: Pod, annotation: string): readonly string[] =>
  (pod.metadata.annotations?.[annotation] ?? "").split(",").filter((key) => key !== "");

const mapValues = <V>(map: StringMap, change: (value: string, key: string) => V): Readonly<Record<string, V>> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value, key)]));

const present = (map: Readonly<Record<string, string | undefined>>): StringMap =>
  Object.fromEntries(Object.entries(map).filter((entry): entry is [string, string] => entry[1] !== undefined));
