/** The length of the code of each byte, and of the end, in bits; as letters, where A is 5 (RFC 7541, appendix B). */
const lengths =
  "ISXXXXXXXTZXXZXXXXXXXXZXXXXXXXXXBFFHIBDGFFDGDBBBAAABBBBBBBCDKBHFIBCCCCCCCCCCCCCCCCCCCCCCDCDIOIJBKABABABBBACCBBBABCBAABCCCCCKGJI" +
  "XPRPPRRRSRSSSSSTSTTRSTSSSSQRSRSSTRQPRRSSQSRRTQRSSQQRQSRSSPRRRSRRSVVPORSRUVVVWWVTUOQVWWVWTQQVVXWWWPTPQRQQSRRUUTTVSVWVVWWWWWXWWWWWVZ";
const shortest = 5;
const longest = 30;
const end = 256;

/** The codes are consecutive numbers, by length and then by byte. So they follow from the lengths. */
function bytesOfCodes(): ReadonlyMap<number, number> {
  const codes = new Map<number, number>();
  let code = 0;
  for (let length = shortest; length <= longest; length += 1, code *= 2) {
    for (let byte = 0; byte <= end; byte += 1) {
      if (lengths.charCodeAt(byte) - 65 + shortest !== length) continue;
      codes.set(keyOf(code, length), byte);
      code += 1;
    }
  }
  return codes;
}

const keyOf = (code: number, length: number) => code + 2 ** length;

const byCode = bytesOfCodes();

/** Decodes a text of HPACK (RFC 7541, 5.2). @throws Error if it is malformed. */
export function decodeHuffman(bytes: Buffer): string {
  let text = "";
  let [code, length] = [0, 0];
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      code = code * 2 + ((byte >> bit) & 1);
      length += 1;
      const found = byCode.get(keyOf(code, length));
      if (found === end || length > longest) throw new Error("a text with a code that does not exist");
      if (found === undefined) continue;
      text += String.fromCharCode(found);
      [code, length] = [0, 0];
    }
  }
  // The padding is the start of the code of the end: ones.
  if (length > 7 || code !== 2 ** length - 1) throw new Error("a text with wrong padding");
  return text;
}
