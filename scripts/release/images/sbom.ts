import { createHash } from "node:crypto";

/** A component of CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/), as far as a release uses it. */
export interface Component {
  readonly type: "library" | "application" | "container";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly cpe?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly object[];
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
}

/** What `npm sbom --sbom-format=cyclonedx` prints. */
export interface NpmSbom {
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
  readonly metadata: { readonly component: Component; readonly tools?: unknown };
}

export interface Sbom extends NpmSbom {
  readonly serialNumber: string;
}

export interface ImageContents {
  readonly program: string;
  readonly architecture: string;
  readonly version: string;
  /** Of the image's manifest for this architecture. */
  readonly digest: string;
  /** The npm packages in it, each as `NAME@VERSION`. */
  readonly packages: ReadonlySet<string>;
  readonly base: readonly Component[];
  readonly created: string;
}

/**
 * The SBOM of an image: of npm's, the packages that are in the image, and the contents of its base. The serial number follows
 * from the rest, so that the same image has the same SBOM.
 *
 * @throws when npm's SBOM lacks a package of the image.
 */
export function imageSbom(npm: NpmSbom, contents: ImageContents): Sbom {
  const { program, architecture, version, digest, packages, base, created } = contents;
  const titleOf = (component: Component) => `${component.name}@${component.version}`;
  const inside = npm.components.filter((component) => packages.has(titleOf(component)));
  const titles = new Set(inside.map(titleOf));
  const missing = [...packages].filter((title) => !titles.has(title));
  if (missing.length > 0) throw new Error(`npm's SBOM lacks what is in the image: ${missing.join(", ")}`);

  const component: Component = {
    type: "container",
    "bom-ref": `${program}@${digest}`,
    name: program,
    version,
    purl: `pkg:oci/${program}@${encodeURIComponent(digest)}?arch=${architecture}&tag=${version}`,
    licenses: [{ license: { id: "Apache-2.0" } }],
  };
  const references = new Set(inside.map((each) => each["bom-ref"]));
  const dependencies = npm.dependencies
    .filter(({ ref }) => references.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => references.has(other)) }));
  const ownDependency = npm.dependencies.find(({ ref }) => ref === npm.metadata.component["bom-ref"]);
  const direct = (ownDependency?.dependsOn ?? []).filter((other) => references.has(other));
  const content = {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: { timestamp: created, lifecycles: [{ phase: "build" }], tools: npm.metadata.tools, component },
    components: [...base, ...inside],
    dependencies: [
      { ref: component["bom-ref"], dependsOn: [...base.map((each) => each["bom-ref"]), ...direct] },
      ...base.map((each) => ({ ref: each["bom-ref"], dependsOn: [] })),
      ...dependencies,
    ],
  };
  return { ...content, serialNumber: serialNumberOf(JSON.stringify(content)) };
}

/** A UUID of version 8 (RFC 9562, section 5.8) whose bits are those of the content's SHA-256, as a URN. */
export function serialNumberOf(content: string): string {
  const hex = createHash("sha256").update(content).digest("hex");
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`];
  return `urn:uuid:${[...parts, hex.slice(20, 32)].join("-")}`;
}
