import { expect, it } from "vitest";
import { FieldDecoder } from "./hpack.ts";
import { decodeHuffman } from "./huffman.ts";

const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(" ", ""), "hex");

it("reads the compressed texts of the examples of HPACK", () => {
  expect(decodeHuffman(bytesOf("f1e3 c2e5 f23a 6ba0 ab90 f4ff"))).toBe("www.example.com");
  expect(decodeHuffman(bytesOf("9d29 ad17 1863 c78f 0b97 c8e9 ae82 ae43 d3"))).toBe("https://www.example.com");
});

it("refuses a text whose padding is not the start of the end", () => {
  expect(() => decodeHuffman(bytesOf("f1e3 c2e5 f23a 6ba0 ab90 f400"))).toThrow("padding");
});

it("keeps fields in its table, as the second of two requests shows", () => {
  const decoder = new FieldDecoder();
  const first = decoder.decode(bytesOf("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff"));
  const second = decoder.decode(bytesOf("8286 84be 5886 a8eb 1064 9cbf"));
  expect(first.at(-1)).toEqual([":authority", "www.example.com"]);
  expect(second.slice(3)).toEqual([
    [":authority", "www.example.com"],
    ["cache-control", "no-cache"],
  ]);
});

it("refuses a field that is not in the table", () => {
  expect(() => new FieldDecoder().decode(bytesOf("be"))).toThrow("index 62");
});
