import {
  createdByLabel,
  isSystemReservedKey,
  normalizedCreator,
  propagatedAnnotationsAnnotation,
  propagatedLabelsAnnotation,
  sandboxNameHashLabel,
  templateRefHashLabel,
  warmPoolSandboxLabel,
} from "../../api/keys.ts";
import { controllerOf, type Stored } from "../../api/meta.ts";
import { nameHash } from "../../api/names.ts";
import type { Pod } from "../../api/pod.ts";
import { groupOf } from "../../api/resource-type.ts";
import { extensionsGroup, type Sandbox } from "../../api/sandbox.ts";
import { compactPatch, mapPatch } from "../merge-patch.ts";

type StringMap = Readonly<Record<string, string>>;

/** The labels by which the children of a sandbox are found. */
export const trackingLabels = (sandbox: Stored<Sandbox>): StringMap => ({
  [sandboxNameHashLabel]: nameHash(sandbox.metadata.name),
});

/** Labels and annotations of a Pod that is about to be made. */
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
 * The merge patch under `metadata` that brings an existing Pod's labels and annotations in line with its sandbox;
 * undefined when they are. What others put on the Pod stays.
 */
export function podMetadataPatch(sandbox: Stored<Sandbox>, pod: Pod): Readonly<Record<string, unknown>> | undefined {
  const { labels, annotations } = pod.metadata;
  const wantedLabels = {
    ...withoutStale(labels, listedKeys(pod, propagatedLabelsAnnotation), labelsNeverScrubbed),
    ...templateKeys(sandbox, "labels"),
    ...controllerLabels(sandbox),
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

const labelsNeverScrubbed: readonly string[] = [sandboxNameHashLabel];
const annotationsNeverScrubbed: readonly string[] = [propagatedLabelsAnnotation, propagatedAnnotationsAnnotation];

/** What the template asks for, without the keys that are the controller's own to give. */
function templateKeys({ spec }: Sandbox, part: "labels" | "annotations"): StringMap {
  const asked = Object.entries(spec.podTemplate.metadata?.[part] ?? {});
  return Object.fromEntries(asked.filter(([key]) => !isSystemReservedKey(key)));
}

/** The labels that the controller answers for; undefined: must not be there. */
function controllerLabels(sandbox: Stored<Sandbox>): Readonly<Record<string, string | undefined>> {
  const { labels = {} } = sandbox.metadata;
  const owner = controllerOf(sandbox);
  const ownerKind = owner && groupOf(owner.apiVersion) === extensionsGroup ? owner.kind : undefined;
  const pooled = ownerKind === "SandboxWarmPool";
  const createdBy = labels[createdByLabel];
  return {
    ...trackingLabels(sandbox),
    [warmPoolSandboxLabel]: (pooled && labels[warmPoolSandboxLabel]) || undefined,
    [templateRefHashLabel]: (ownerKind && labels[templateRefHashLabel]) || undefined,
    [createdByLabel]: createdBy ? normalizedCreator(createdBy) : undefined,
  };
}

/** The Pod's keys without those that the template once gave; the ones it still gives are put back by the caller. */
function withoutStale(map: StringMap | undefined, listed: readonly string[], kept: readonly string[]): StringMap {
  const stale = new Set(listed.filter((key) => !kept.includes(key)));
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !stale.has(key)));
}

/** The two lists of keys for an existing Pod. One that is empty is written only over one that was not. */
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
