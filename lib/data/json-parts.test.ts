import { describe, expect, it } from "vitest";
import { measureJson, measureValue } from "./json-parts.ts";

const count = (text: string) => measureJson(Buffer.from(text)).parts;

describe("the parts of a JSON text", () => {
  it.each([
    ["1", 0],
    ["[]", 1],
    ["[1,2,3]", 3],
    ['{"a":{},"b":[[]]}', 5],
    ["[{},{},{}]", 6],
  ])("of %s are %i opening brackets and commas", (text, parts) => {
    expect(count(text)).toBe(parts);
  });

  it.each(['"[,{"', '"\\",[{"', '"\\\\"', '"食[,"', '"\\u005b,"'])("are none within the string %s", (text) => {
    expect(count(text)).toBe(0);
    expect(count(`[${text},1]`)).toBe(2);
  });

  it.each(['["a,[', '[1,"\\', '[1,"'])("of a text that breaks off, as %s, end with it", (text) => {
    expect(count(text)).toBeLessThan(4);
  });

  it("follow the end of a string whose bytes are no UTF-8, as a decoder does", () => {
    const broken = Buffer.concat([Buffer.from('["'), Buffer.from([0xe4]), Buffer.from('",1,2]')]);
    expect(JSON.parse(broken.toString("utf8"))).toHaveLength(3);
    expect(measureJson(broken).parts).toBe(3);
  });

  it("are at least as many as the values that a parse of any text makes", () => {
    for (const text of ['[0,0,{"a":[null,"x"]}]', '{"a":{"b":{"c":[]}}}', "[[[[1],2],3],4]"]) {
      let values = 0;
      JSON.parse(text, (_key, value) => {
        values += 1;
        return value;
      });
      expect(count(text)).toBeGreaterThanOrEqual(values - 1);
    }
  });
});

it.each([
  ["1", 0],
  ["[]", 1],
  ["[[],[],{}]", 2],
  ['{"a":{"b":[1]},"c":[]}', 3],
  ['["[[[[\\"[[",{}]', 2],
  ["[[[", 3],
  ["]]]]", 0],
])("the nesting of %s is %i", (text, nesting) => {
  expect(measureJson(Buffer.from(text)).nesting).toBe(nesting);
});

it("the measure of a value stops beyond the bound, and counts the holes of a list without a look at each", () => {
  const holes: unknown[] = [];
  holes.length = 4_294_967_295;
  expect(measureValue({ holes }, 1_000).parts).toBe(4_294_967_296);
  expect(measureValue({ a: [1, 2], b: {} }, 1_000)).toEqual({ parts: 5, nesting: 2, characters: 2 });
});

it("the measure of a value counts the characters of its strings and names, each time that they occur", () => {
  const text = "x".repeat(100);
  expect(measureValue({ key: [text, text, { other: text }], number: 5 }, 1_000).characters).toBe(314);
});
