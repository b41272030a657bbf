import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { type ConfigMap, configMapType } from "../api/kinds/core.ts";
import type { KubeObject } from "../api/kinds/meta.ts";
import type { ResourceType } from "../api/kinds/resource-type.ts";
import { type Sandbox, sandboxType } from "../api/kinds/sandbox.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isAlreadyExists } from "../kube/client/errors.ts";
import { machineHasProgram } from "./kubelet/process/machine-programs.ts";

const exampleNames = ["hello", "notebook"] as const;

/** The supported content of an example's kustomization; `kubectl apply -k` reads the same file. */
interface Kustomization {
  readonly resources?: readonly string[];
  readonly configMapGenerator?: readonly { readonly name: string; readonly files: readonly string[] }[];
}

/** The objects of one example, as `kubectl kustomize` prints them. */
export function readExample(directory: string): readonly (ConfigMap | Sandbox)[] {
  const read = (file: string) => readFileSync(join(directory, file), "utf8");
  const kustomization: Kustomization = parse(read("kustomization.yaml"));
  const generated = (kustomization.configMapGenerator ?? []).map(
    ({ name, files }): ConfigMap => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
      data: Object.fromEntries(files.map((file) => [file, read(file)])),
    }),
  );
  const written = (kustomization.resources ?? []).flatMap((file) =>
    parseAllDocuments(read(file)).map((document) => document.toJS() as Sandbox),
  );
  return [...generated, ...written];
}

/** The programs of the examples that the machine does not have. */
export function missingPrograms(directory: string, inheritedPath: string) {
  return exampleNames.flatMap((sandbox) =>
    readExample(join(directory, sandbox)).flatMap((object) => {
      const containers = object.kind === "Sandbox" ? (object as Sandbox).spec.podTemplate.spec.containers : [];
      const missing = containers.filter((container) => !machineHasProgram(container, inheritedPath));
      return missing.map(({ command: [program = ""] = [] }) => ({ sandbox, program }));
    }),
  );
}

const typeOf: Readonly<Record<string, ResourceType>> = { ConfigMap: configMapType, Sandbox: sandboxType };

/** Creates missing objects; existing ones are not changed. */
export async function createExamples(client: KubeClient, directory: string, signal: AbortSignal): Promise<void> {
  for (const name of exampleNames) {
    for (const object of readExample(join(directory, name))) await createOnce(client, object, signal);
  }
}

async function createOnce(client: KubeClient, object: KubeObject, signal: AbortSignal): Promise<void> {
  const type = typeOf[object.kind ?? ""];
  if (!type) throw new Error(`an example has an object of the kind ${object.kind}, which local mode does not create`);
  const inNamespace = { ...object, metadata: { ...object.metadata, namespace: "default" } };
  try {
    await client.create(type, inNamespace, {}, signal);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
