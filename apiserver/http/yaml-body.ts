import { Lexer, parseDocument, type ScalarTag, type Tags } from "yaml";
import { bodyTooLarge } from "../status-errors.ts";

/**
 * The value of a YAML text, as a real API server reads it with sigs.k8s.io/yaml: YAML 1.1 as go-yaml v2 takes it. So `yes` and `on` are
 * booleans, `0644` is octal, and times and numbers of base 60 are strings. Only the first document counts. Keys for merges (`<<`) are not
 * supported.
 *
 * @throws Error for malformed text, StatusError 413 for one with too many tokens.
 */
export function parseYamlText(text: string): unknown {
  refuseManyTokens(text);
  // The last of equal keys counts, as in JSON: the library would compare each key with all others, which takes minutes for a body of 2 MB.
  // It would also quote the line of each error, which takes minutes for a long line with many errors.
  const options = { uniqueKeys: false, prettyErrors: false, logLevel: "error", version: "1.1", merge: false } as const;
  const document = withoutStacks(() => parseDocument(text, { ...options, customTags }));
  const error = document.errors.find(({ code }) => code !== "MULTIPLE_DOCS");
  if (error) throw new Error(`${error.message} at line ${text.slice(0, error.pos[0]).split("\n").length}`);
  const { explicit, version } = document.directives?.yaml ?? {};
  if (explicit && version !== "1.1") throw new Error("found incompatible YAML document");
  // Aliases can expand a small text to a huge value; no object needs more than a few.
  return document.toJS({ maxAliasCount: 100 });
}

/** The library keeps each token with its place, some hundred bytes, and a `{},` is three tokens. 50,000 lines of `key: value` have fewer. */
const tokensMax = 500_000;

function refuseManyTokens(text: string): void {
  const tokens = new Lexer().lex(text);
  for (let count = 0; !tokens.next().done; count += 1) {
    if (count === tokensMax) throw bodyTooLarge(`${tokensMax} tokens of YAML`);
  }
}

/** The library makes an error for each fault of a text. The stacks of a million errors take ten times as long as the rest. */
function withoutStacks<T>(work: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** What JSON has, the booleans of YAML 1.1, and the numbers of Go. Other tags, such as those of sets, mean nothing. */
const kept = /:(map|seq|str|null|bool)$/;
const customTags = (tags: Tags): Tags => [
  ...tags.filter((tag) => typeof tag !== "string" && kept.test(tag.tag)),
  numberTag("int"),
  numberTag("float"),
  { tag: "tag:yaml.org,2002:binary", resolve: (text: string) => Buffer.from(text, "base64").toString("utf8") },
];

function numberTag(name: "int" | "float"): ScalarTag {
  return { tag: `tag:yaml.org,2002:${name}`, default: true, test: /^[-+.0-9]/, resolve: numberOrText };
}

/** Of 64 bits in binary, with their prefix. */
const digitsMax = 66;
const notFinite = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const integer = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/** A plain scalar that begins as a number, in the order in which go-yaml v2 tries (`resolve.go`). */
function numberOrText(text: string, onError: (message: string) => void): number | string {
  if (notFinite.test(text)) onError(`json: unsupported value: ${text}`);
  const plain = text.startsWith(".") ? text : text.replaceAll("_", "");
  const [, sign = "", digits] = integer.exec(plain) ?? [];
  // A number with more digits fits in no integer, and takes long to read as one.
  const isLong = digits === undefined || digits.length > digitsMax;
  const whole = isLong ? undefined : BigInt(digits.replace(/^0(?=[0-7])/, "0o"));
  if (whole !== undefined && whole < (sign === "" ? 2n ** 64n : 2n ** 63n))
    return Number(sign === "-" ? -whole : whole);
  return float.test(plain) ? Number(plain) : text;
}
