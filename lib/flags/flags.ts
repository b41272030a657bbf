/**
 * The type of a flag's value. Durations are milliseconds in code and Go durations (`1h30m`, `500ms`) on the command
 * line.
 */
export type FlagKind = "string" | "boolean" | "integer" | "float" | "duration";

export interface FlagSpec<V> {
  readonly kind: FlagKind;
  readonly default: V;
  readonly help: string;
  /** Returns the fault of a parsed value, or undefined. */
  readonly check?: ((value: V) => string | undefined) | undefined;
}

export const flag = {
  string: (def: string, help: string, check?: (v: string) => string | undefined) => spec("string", def, help, check),
  boolean: (def: boolean, help: string) => spec<boolean>("boolean", def, help),
  integer: (def: number, help: string, check?: (v: number) => string | undefined) => spec("integer", def, help, check),
  float: (def: number, help: string, check?: (v: number) => string | undefined) => spec("float", def, help, check),
  /** `def` in milliseconds. */
  duration: (def: number, help: string, check?: (v: number) => string | undefined) =>
    spec("duration", def, help, check),
};

function spec<V>(kind: FlagKind, def: V, help: string, check?: (value: V) => string | undefined): FlagSpec<V> {
  return { kind, default: def, help, check };
}

type AnyFlagSpec = FlagSpec<string> | FlagSpec<boolean> | FlagSpec<number>;
export type FlagTable = Readonly<Record<string, AnyFlagSpec>>;
export type FlagValues<T extends FlagTable> = { readonly [K in keyof T]: T[K]["default"] };

export interface ParsedFlags<T extends FlagTable> {
  readonly values: FlagValues<T>;
  /** The flags that were set on the command line, for those whose meaning depends on it. */
  readonly given: ReadonlySet<string>;
  /** The words after the flags. */
  readonly rest: readonly string[];
}

/** The command line is invalid: print the message and the usage and exit with status 2. */
export class FlagError extends Error {
  override readonly name = "FlagError";
}

/** `--help` was given: print the usage and exit with status 0. */
export class HelpRequested extends Error {
  override readonly name = "HelpRequested";
}

/**
 * Parses a command line in the syntax of Go's flag package, which existing manifests use: `-name` and `--name` are
 * equal, `--name=value` or `--name value`, a boolean without a value is true, the last occurrence wins, and parsing
 * stops at `--` or at the first word that is not a flag.
 *
 * @throws HelpRequested for `-h` and `--help`.
 * @throws FlagError for bad syntax, an unknown flag, a missing value, or values that do not parse or fail their check;
 * one message has all wrong values.
 */
export function parseFlags<T extends FlagTable>(table: T, args: readonly string[]): ParsedFlags<T> {
  const values: Record<string, string | boolean | number> = {};
  for (const [name, { default: value }] of Object.entries(table)) values[name] = value;
  const given = new Set<string>();
  const wrong: string[] = [];

  let at = 0;
  for (let word = args[at]; word !== undefined; word = args[at]) {
    if (word === "--") {
      at += 1;
      break;
    }
    if (!word.startsWith("-") || word === "-") break;
    at += 1;
    const { name, inline } = splitFlag(word);
    const spec = Object.hasOwn(table, name) ? table[name] : undefined;
    if (!spec && (name === "help" || name === "h")) throw new HelpRequested("help requested");
    if (!spec) throw new FlagError(`unknown flag: ${word.split("=", 1)[0]}`);
    const text = inline ?? (spec.kind === "boolean" ? "true" : args[at++]);
    if (text === undefined) throw new FlagError(`flag needs a value: --${name}`);
    const value = parseValue(spec.kind, text);
    given.add(name);
    if (value === undefined) wrong.push(`--${name}: "${text}" is not a valid ${spec.kind}`);
    else values[name] = value;
  }

  for (const [name, spec] of Object.entries(table)) {
    // The check has the type of the default, and the value was parsed with the same kind.
    const complaint = (spec.check as ((value: unknown) => string | undefined) | undefined)?.(values[name]);
    if (complaint) wrong.push(`--${name}: ${complaint}`);
  }
  if (wrong.length > 0) throw new FlagError(wrong.join("\n"));
  return { values: values as FlagValues<T>, given, rest: args.slice(at) };
}

/** The flags with their defaults and meanings, one on a line, for `--help` and after an error. */
export function usage(program: string, table: FlagTable): string {
  const lines = Object.entries(table).map(([name, { kind, default: value, help }]) => {
    const shown = kind === "duration" ? formatDuration(value as number) : String(value);
    return `  --${name}${kind === "boolean" ? "" : ` ${kind}`}\n        ${help}${shown === "" ? "" : ` (default ${shown})`}`;
  });
  return [`Usage: ${program} [flags]`, "", ...lines, ""].join("\n");
}

function splitFlag(word: string): { readonly name: string; readonly inline: string | undefined } {
  const bare = word.replace(/^--?/, "");
  if (/^[-=]/.test(bare)) throw new FlagError(`bad flag syntax: ${word}`);
  const equals = bare.indexOf("=");
  return equals < 0
    ? { name: bare, inline: undefined }
    : { name: bare.slice(0, equals), inline: bare.slice(equals + 1) };
}

function parseValue(kind: FlagKind, text: string): string | boolean | number | undefined {
  switch (kind) {
    case "string":
      return text;
    case "boolean":
      if (/^(1|t|T|true|TRUE|True)$/.test(text)) return true;
      return /^(0|f|F|false|FALSE|False)$/.test(text) ? false : undefined;
    case "integer":
      return /^[+-]?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
    case "float":
      return parseFloatValue(text);
    case "duration":
      return parseDurationMs(text);
  }
}

function parseFloatValue(text: string): number | undefined {
  // Go's ParseFloat accepts these spellings; the flag's own check decides whether such a number is valid.
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  if (special) return special[2]?.toLowerCase() === "nan" ? Number.NaN : special[1] === "-" ? -Infinity : Infinity;
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // U+00B5, the micro sign
  μs: 1e-3, // U+03BC, the Greek letter
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** The milliseconds of a Go duration such as `1h30m`, `2.5s`, `-1s` or `0`; undefined if malformed. */
export function parseDurationMs(text: string): number | undefined {
  const match = /^([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/.exec(text);
  if (!match) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of (match[2] ?? "").matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy)) {
    totalMs += Number(amount) * (unitMs[unit ?? ""] ?? 0);
  }
  return match[1] === "-" ? -totalMs : totalMs;
}

/** A duration as Go prints it: `5m0s`, `1h30m0s`, `2.5s`, `500ms`, `0s`. */
export function formatDuration(durationMs: number): string {
  const sign = durationMs < 0 ? "-" : "";
  const leftMs = Math.abs(durationMs);
  if (leftMs === 0) return "0s";
  if (leftMs < 1_000) return `${sign}${leftMs}ms`;
  const hours = Math.floor(leftMs / 3_600_000);
  const minutes = Math.floor((leftMs % 3_600_000) / 60_000);
  const seconds = (leftMs % 60_000) / 1_000;
  return `${sign}${hours > 0 ? `${hours}h` : ""}${hours > 0 || minutes > 0 ? `${minutes}m` : ""}${seconds}s`;
}
