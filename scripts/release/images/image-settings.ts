/** What an image says of how it runs: `config` in the image configuration of OCI. */
export interface ImageSettings {
  readonly WorkingDir?: string;
  readonly User?: string;
  readonly Env: readonly string[];
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Entrypoint: readonly string[];
}

/**
 * Reads what the last stage of a Dockerfile says of how its image runs, so that it is said in one place.
 *
 * @throws for an instruction that changes the image in a way that this does not know.
 */
export function imageSettings(dockerfile: string): ImageSettings {
  const lines = dockerfile.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  const lastStage = lines.slice(lines.findLastIndex((line) => line.startsWith("FROM ")) + 1);
  const settings = { Env: [] as string[], ExposedPorts: {} as Record<string, object>, Entrypoint: [] as string[] };
  const readers: Readonly<Record<string, (value: string) => unknown>> = {
    COPY: () => undefined,
    WORKDIR: (WorkingDir) => Object.assign(settings, { WorkingDir }),
    USER: (User) => Object.assign(settings, { User }),
    ENV: (variable) => settings.Env.push(variable),
    EXPOSE: (ports) => ports.split(/\s+/).map((port) => Object.assign(settings.ExposedPorts, { [`${port}/tcp`]: {} })),
    ENTRYPOINT: (command) => settings.Entrypoint.push(...JSON.parse(command)),
  };
  for (const line of lastStage) {
    const [, instruction = "", value = ""] = /^(\w+)\s+(.+)$/.exec(line) ?? [];
    const read = readers[instruction];
    if (read === undefined) throw new Error(`the Dockerfile has an instruction that a release does not know: ${line}`);
    read(value);
  }
  return settings;
}
