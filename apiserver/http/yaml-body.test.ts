import { describe, expect, it } from "vitest";
import { parseYamlText } from "./yaml-body.ts";

// The values are those of sigs.k8s.io/yaml 1.4.0, `YAMLToJSON`.
describe("a value in YAML", () => {
  it.each<readonly [unknown, ...(readonly string[])]>([
    [true, "true", "yes", "Yes", "y", "Y", "on", "ON", "!!bool yes"],
    [false, "false", "no", "NO", "n", "Off"],
    [null, "~", "Null", ""],
    ["yes", '"yes"', "'yes'", "!!str yes"],
    [420, "0644", "0o644", "+0644", "0_644", "0x1a4", "0b110100100", "420"],
    [-420, "-0644", "-0b110100100"],
    [89, "089", "8_9", "!!int '89'"],
    [0, "0", "00", "0e5"],
    [1000, "1e3", "1E+3", "1000.", "1_000.0", "!!float 1000"],
    [0.5, ".5", "+.5", "5e-1", "0.50"],
    [2 ** 64, "18446744073709551616"],
    [1e99, `1${"0".repeat(99)}`],
    ["hi", "!!binary aGk="],
  ])("is %j if it is written so", (value, ...texts) => {
    for (const text of texts) expect([text, parseYamlText(`a: ${text}\n`)]).toEqual([text, { a: value }]);
  });

  it.each(["1:30", "190:20:30", "2001-01-01", "2001-12-14t21:59:43.10-05:00", "0x", "0b12", "0o8", "_1", "1e", "tRue"])(
    "is the text if it is %s",
    (text) => expect(parseYamlText(`a: ${text}\n`)).toEqual({ a: text }),
  );

  it.each([".inf", "-.Inf", ".nan"])("is no %s, which JSON does not have", (text) => {
    expect(() => parseYamlText(`a: ${text}\n`)).toThrow("json: unsupported value");
  });
});

it("keys of YAML that are no strings are written as in JSON", () => {
  expect(parseYamlText("yes: 1\n0644: 2\n1.5: 3\n")).toEqual({ true: 1, 420: 2, 1.5: 3 });
});

it("a text of YAML counts to the end of its first document, and is version 1.1", () => {
  expect(parseYamlText("a: 1\n---\nb: 2\n")).toEqual({ a: 1 });
  expect(parseYamlText("%YAML 1.1\n---\na: yes\n")).toEqual({ a: true });
  expect(() => parseYamlText("%YAML 1.2\n---\na: yes\n")).toThrow("found incompatible YAML document");
});
