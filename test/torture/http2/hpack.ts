import { decodeHuffman } from "./huffman.ts";

/** Names and values, in order. */
export type Fields = readonly (readonly [name: string, value: string])[];

/** The fields that need no text (RFC 7541, appendix A). */
const staticFields: Fields =
  `:authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https|:status 200|
:status 204|:status 206|:status 304|:status 400|:status 404|:status 500|accept-charset|accept-encoding gzip, deflate|
accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|
content-encoding|content-language|content-length|content-location|content-range|content-type|cookie|date|etag|expect|expires|from|
host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|link|location|max-forwards|
proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|set-cookie|strict-transport-security|
transfer-encoding|user-agent|vary|via|www-authenticate`
    .replaceAll("\n", "")
    .split("|")
    .map((field) => [field.split(" ", 1)[0] ?? "", field.split(" ").slice(1).join(" ")]);

/** What each field in the table takes besides its text, in bytes. */
const fieldOverhead = 32;

/** Decodes the fields of one connection, without any code of the product. */
export class FieldDecoder {
  #table: (readonly [string, string])[] = [];
  #tableBytes = 0;
  #tableBytesMax = 4_096;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  /** @throws Error if the block is malformed. */
  decode(block: Buffer): Fields {
    this.#block = block;
    this.#at = 0;
    const fields: (readonly [string, string])[] = [];
    while (this.#at < block.length) {
      const first = block[this.#at] ?? 0;
      if (first >= 0x80) fields.push(this.#indexed(this.#number(7)));
      else if (first >= 0x40) fields.push(this.#keep(this.#literal(6)));
      else if (first >= 0x20) this.#resize(this.#number(5));
      else fields.push(this.#literal(4));
    }
    return fields;
  }

  #literal(prefixBits: number): readonly [string, string] {
    const index = this.#number(prefixBits);
    const name = index === 0 ? this.#text() : this.#indexed(index)[0];
    return [name, this.#text()];
  }

  #indexed(index: number): readonly [string, string] {
    const found = staticFields[index - 1] ?? this.#table[index - 1 - staticFields.length];
    if (!found) throw new Error(`a field with the index ${index}, which is not in the table`);
    return found;
  }

  #keep(field: readonly [string, string]): readonly [string, string] {
    this.#table.unshift(field);
    this.#tableBytes += sizeOf(field);
    this.#evict();
    return field;
  }

  #resize(bytes: number): void {
    this.#tableBytesMax = bytes;
    this.#evict();
  }

  #evict(): void {
    while (this.#tableBytes > this.#tableBytesMax) this.#tableBytes -= sizeOf(this.#table.pop() ?? ["", ""]);
  }

  #number(prefixBits: number): number {
    const full = 2 ** prefixBits - 1;
    let value = this.#byte() & full;
    if (value < full) return value;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  #text(): string {
    const isShort = ((this.#block[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#number(7);
    const bytes = this.#block.subarray(this.#at, this.#at + length);
    if (bytes.length < length) throw new Error("a text that is longer than its block");
    this.#at += length;
    return isShort ? decodeHuffman(bytes) : bytes.toString("latin1");
  }

  #byte(): number {
    const byte = this.#block[this.#at];
    if (byte === undefined) throw new Error("a block that breaks off");
    this.#at += 1;
    return byte;
  }
}

const sizeOf = ([name, value]: readonly [string, string]) => name.length + value.length + fieldOverhead;

/** The first value of that name. */
export const fieldOf = (fields: Fields, name: string): string | undefined =>
  fields.find(([each]) => each === name)?.[1];
