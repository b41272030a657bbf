import type { ConfigMap, Container, EnvVar, Pod, Secret } from "../../../api/kinds/core.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { ownField, setField } from "../../../lib/data/own-fields.ts";
import type { ByteBudget } from "../byte-budget.ts";
import { StartRefused } from "../start-refusal.ts";
import { expandWithin } from "./launch-budget.ts";
import { fieldValue, type PodPlace } from "./pod-fields.ts";
import { resourceValue } from "./resource-fields.ts";

/** The ConfigMaps and Secrets that a container refers to, by name; missing objects are absent. */
export interface ReferredObjects {
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
  readonly secrets: ReadonlyMap<string, Secret>;
}

export interface EnvironmentRequest {
  readonly pod: Stored<Pod>;
  readonly container: Container;
  readonly place: PodPlace;
  readonly objects: ReferredObjects;
  /** The machine's variables for every container; see `inheritedEnvironment`. */
  readonly inherited: Readonly<Record<string, string>>;
  /** The variables of Services; see `serviceVariables`. */
  readonly services: Readonly<Record<string, string>>;
  /** Directory of each volume by its name. */
  readonly volumeDirectories: ReadonlyMap<string, string>;
  /** The environment is taken from it. */
  readonly budget: ByteBudget;
}

export type Environment = Readonly<Record<string, string>>;

// Variables that programs usually need. Nothing else is passed on: the environment of the runtime may contain
// credentials.
const inheritedNames = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|TMPDIR)$/;

/** The part of our own environment that containers get. */
export function inheritedEnvironment(environment: Readonly<Record<string, string | undefined>>): Environment {
  const inherited: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && inheritedNames.test(name)) inherited[name] = value;
  }
  return inherited;
}

/** The variable of the volume `data-dir` is `ROUSE_VOLUME_DATA_DIR`. */
export function volumeVariable(volumeName: string): string {
  return `ROUSE_VOLUME_${volumeName.toUpperCase().replaceAll("-", "_")}`;
}

/**
 * The environment of one container: the machine's, Services, the directories of volumes, `envFrom`, then `env` in its
 * order. The last definition of a name wins.
 *
 * @throws StartRefused with `CreateContainerConfigError` when a referenced object does not exist, or when the budget does
 * not suffice.
 */
export function makeEnvironment(request: EnvironmentRequest): Environment {
  const { container, inherited, services, volumeDirectories, budget } = request;
  const environment: Record<string, string> = {};
  const set = (name: string, value: string) => {
    budget.take(Buffer.byteLength(name) + Buffer.byteLength(value));
    setField(environment, name, value);
  };
  const directories = [...volumeDirectories].map(([name, path]) => [volumeVariable(name), path] as const);
  for (const [name, value] of [...Object.entries(inherited), ...Object.entries(services), ...directories]) {
    set(name, value);
  }
  importVariables(request, set);

  // As in the kubelet, `$(NAME)` in a value refers to an earlier variable of `env` or to one of a Service, not to
  // `envFrom`. The directories of volumes are our own addition, so they can be referenced too.
  const declared = new Map<string, string>([...Object.entries(services), ...directories]);
  for (const variable of container.env ?? []) {
    const value = variable.valueFrom
      ? referredValue(variable.valueFrom, request)
      : expandWithin(budget, variable.value ?? "", (name) => declared.get(name));
    if (value === undefined) continue;
    set(variable.name, value);
    declared.set(variable.name, value);
  }
  return environment;
}

/** The names of the ConfigMaps and Secrets in the environment of a container. */
export function environmentReferences(container: Container): {
  readonly configMaps: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
} {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef?.name) configMaps.add(configMapRef.name);
    if (secretRef?.name) secrets.add(secretRef.name);
  }
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.configMapKeyRef?.name) configMaps.add(valueFrom.configMapKeyRef.name);
    if (valueFrom?.secretKeyRef?.name) secrets.add(valueFrom.secretKeyRef.name);
  }
  return { configMaps, secrets };
}

/** The values of one object, which are decoded one by one: a variable needs only one of them. */
interface Texts {
  readonly keys: readonly string[];
  readonly get: (key: string) => string | undefined;
}

function configMapTexts({ data = {} }: ConfigMap): Texts {
  return { keys: Object.keys(data), get: (key) => ownField(data, key) };
}

function secretTexts({ data = {} }: Secret): Texts {
  const decode = (key: string) => {
    const value = ownField(data, key);
    return value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8");
  };
  return { keys: Object.keys(data), get: decode };
}

function importVariables({ container, objects }: EnvironmentRequest, set: (name: string, value: string) => void): void {
  for (const { prefix = "", configMapRef, secretRef } of container.envFrom ?? []) {
    const texts = configMapRef
      ? textsOf(configMapRef, objects.configMaps, "configmap", configMapTexts)
      : secretRef && textsOf(secretRef, objects.secrets, "secret", secretTexts);
    for (const key of texts?.keys ?? []) set(prefix + key, texts?.get(key) ?? "");
  }
}

interface Reference {
  readonly name?: string;
  readonly optional?: boolean;
}

function textsOf<T>(
  { name = "", optional }: Reference,
  objects: ReadonlyMap<string, T>,
  kind: string,
  read: (object: T) => Texts,
): Texts | undefined {
  const object = objects.get(name);
  if (object) return read(object);
  if (optional) return undefined;
  throw new StartRefused("CreateContainerConfigError", `${kind} "${name}" not found`);
}

function referredValue(
  source: NonNullable<EnvVar["valueFrom"]>,
  { pod, container, place, objects }: EnvironmentRequest,
): string | undefined {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = source;
  if (fieldRef) return fieldValue(fieldRef.fieldPath, pod, place);
  if (resourceFieldRef) return resourceValue(resourceFieldRef, container, pod);
  const [reference, kind, texts] = configMapKeyRef
    ? ([
        configMapKeyRef,
        "ConfigMap",
        textsOf(configMapKeyRef, objects.configMaps, "configmap", configMapTexts),
      ] as const)
    : secretKeyRef
      ? ([secretKeyRef, "Secret", textsOf(secretKeyRef, objects.secrets, "secret", secretTexts)] as const)
      : ([undefined, "", undefined] as const);
  if (!reference) throw new StartRefused("CreateContainerConfigError", "an env variable refers to an unknown source");
  const value = texts?.get(reference.key);
  if (value !== undefined || reference.optional) return value;
  const owner = `${kind} ${pod.metadata.namespace}/${reference.name}`;
  throw new StartRefused("CreateContainerConfigError", `couldn't find key ${reference.key} in ${owner}`);
}
