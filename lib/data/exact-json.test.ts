import { describe, expect, it } from "vitest";
import { cpuMs } from "../../test/support/cpu-time.ts";
import {
  hasRoundedInteger,
  LongInteger,
  longIntegersMax,
  parseExactJson,
  parseWithLongIntegers,
} from "./exact-json.ts";

function through(text: string): string {
  const { value, restore } = parseExactJson(text);
  return restore(JSON.stringify(value));
}

const millisecondsOf = (task: () => unknown): number => Math.min(...Array.from({ length: 5 }, () => cpuMs(task)));

const texts = [
  '{"seconds":9223372036854775807}',
  '{"seconds":-9223372036854775808,"list":[9007199254740993,1,2.5]}',
  '{"text":"a:9223372036854775807","digest":"1234567890123456789"}',
  '{"escaped":"\\\\\\":9223372036854775807","then":9223372036854775807,"end":"\\\\"}',
  '{"9223372036854775807":9223372036854775807,"9223372036854775806":"9223372036854775807"}',
  '{"nested":{"list":[[9007199254740993]]},"none":null,"yes":true}',
  "9223372036854775807",
  "{}",
];

describe("JSON that is parsed and written again", () => {
  it.each(texts)("has the numbers that it had: %s", (text) => {
    expect(through(text)).toBe(text);
  });

  it("equals the result of JSON.parse if all numbers are doubles", () => {
    const text =
      '{"a":[1,-2.5,1e21,9007199254740991,0.12345678901234567890,1e-0000000000000000012],"b":"12345678901234567890"}';
    expect(parseExactJson(text).value).toEqual(JSON.parse(text));
  });

  it("has its long integers also where a part was written as a text", () => {
    const { value, restore } = parseExactJson('{"a":9223372036854775807}');
    expect(restore(JSON.stringify({ note: JSON.stringify(value) }))).toBe('{"note":"{\\"a\\":9223372036854775807}"}');
  });

  it.each([
    "{",
    '{"a":12345678901234567890',
    "{12345678901234567890:1}",
    "{12345678901234567890 :1}",
    "[012345678901234567890]",
    "[12345678901234567890x]",
    '"12345678901234567890',
  ])("is rejected if malformed: %s", (text) => {
    expect(() => parseExactJson(text)).toThrow(SyntaxError);
  });

  it.each([
    { where: "in a text", digits: '":1234567890123456789"' },
    { where: "as a number", digits: "1234567890123456789" },
  ])("takes about as long as without digits when there are some $where", ({ digits }) => {
    const textWith = (first: string) => `[${first}${',""'.repeat(450_000)}]`;
    const [plain, longer] = [textWith("0"), textWith(digits)];
    const plainMs = millisecondsOf(() => JSON.parse(plain));
    for (const parse of [parseExactJson, parseWithLongIntegers]) {
      expect(millisecondsOf(() => parse(longer))).toBeLessThan(8 * plainMs);
    }
  });
});

describe("JSON with long integers in place of numbers", () => {
  it.each(texts)("is written again as it was, without more to do: %s", (text) => {
    expect(JSON.stringify(parseWithLongIntegers(text))).toBe(text);
  });

  it("has the value of a number where one is needed, rounded to a double", () => {
    const { seconds } = parseWithLongIntegers('{"seconds":9223372036854775807}') as { seconds: number };
    expect(seconds).toEqual(new LongInteger("9223372036854775807"));
    expect(seconds - 1).toBe(2 ** 63);
    expect(seconds > 60).toBe(true);
  });

  it("equals the result of JSON.parse if all numbers are doubles", () => {
    const text = '{"a":[1,-2.5,1e21,9007199254740991,0.12345678901234567890],"b":":1234567890123456789"}';
    expect(parseWithLongIntegers(text)).toEqual(JSON.parse(text));
  });

  it("has members of any name, and nests as deep as JSON.parse reads", () => {
    const named = '{"__proto__":{"a":9223372036854775807},"b":{"__proto__":9223372036854775807}}';
    expect(JSON.stringify(parseWithLongIntegers(named))).toBe(named);
    const depth = 5_000;
    expect(parseWithLongIntegers(`${"[".repeat(depth)}9223372036854775807${"]".repeat(depth)}`)).toHaveLength(1);
  });

  it("rounds all long integers of an object that has too many, and none of the other objects of a list", () => {
    const objectOf = (count: number) => `{"spec":{"list":[1${",9223372036854775807".repeat(count)}]}}`;
    const some = objectOf(longIntegersMax);
    const text = `{"items":[${[some, objectOf(longIntegersMax + 1), some].join()}]}`;
    const { items } = parseWithLongIntegers(text) as { items: readonly unknown[] };
    expect(items.map(hasRoundedInteger)).toEqual([false, true, false]);
    expect(JSON.stringify(items[0])).toBe(some);
    expect(JSON.stringify(items[2])).toBe(some);
    expect(hasRoundedInteger(parseWithLongIntegers(objectOf(longIntegersMax + 1)))).toBe(true);
  });

  it("takes at most a few times as long and as much memory as JSON.parse, for any numbers", () => {
    const objects = 10;
    const textOf = (numbers: string) => `{"items":[${Array(objects).fill(`{"a":[${numbers}1]}`).join()}]}`;
    const short = textOf("123456789012345,12345,".repeat(30_000));
    const long = textOf("1234567890123456789,".repeat(30_000));
    expect(millisecondsOf(() => parseWithLongIntegers(long))).toBeLessThan(8 * millisecondsOf(() => JSON.parse(short)));
    const { items } = parseWithLongIntegers(long) as { items: readonly { readonly a: readonly unknown[] }[] };
    expect(items).toHaveLength(objects);
    expect(items.every(({ a }) => a.every((number) => typeof number === "number"))).toBe(true);
  });
});
