const messageHeaderBytes = 4;
const versionAndRandomBytes = 34;
const serverNameExtension = 0;
const hostName = 0;

class Malformed extends Error {
  override readonly name = "Malformed";
}

/**
 * The server name in a ClientHello (RFC 8446, 4.1.2; RFC 6066, 3), as it is spelt; undefined: it has none. "malformed": it cannot
 * be read, or it has two names, which the sandbox could read otherwise.
 */
export function serverNameOf(message: Buffer): { readonly name: string | undefined } | "malformed" {
  try {
    return { name: readMessage(new Fields(message.subarray(messageHeaderBytes))) };
  } catch (error) {
    if (error instanceof Malformed) return "malformed";
    throw error;
  }
}

function readMessage(fields: Fields): string | undefined {
  fields.skip(versionAndRandomBytes);
  fields.vector(1); // the session
  fields.vector(2); // the cipher suites
  fields.vector(1); // the compression methods
  if (fields.isEmpty) return undefined; // before TLS 1.3 the extensions may be absent
  const extensions = fields.vector(2);
  if (!fields.isEmpty) throw new Malformed("bytes behind the extensions");
  let found: { readonly name: string } | undefined;
  while (!extensions.isEmpty) {
    const type = extensions.number(2);
    const content = extensions.vector(2);
    if (type !== serverNameExtension) continue;
    if (found) throw new Malformed("the extension with the name is repeated");
    found = { name: readName(content) };
  }
  return found?.name;
}

function readName(extension: Fields): string {
  const names = extension.vector(2);
  if (!extension.isEmpty) throw new Malformed("bytes behind the list of names");
  if (names.number(1) !== hostName) throw new Malformed("the name has an unknown type");
  const name = names.vector(2).rest();
  if (!names.isEmpty || name === "") throw new Malformed("not exactly one name");
  return name;
}

/** The fields of a message, one after the other. */
class Fields {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isEmpty(): boolean {
    return this.#at === this.#bytes.length;
  }

  skip(length: number): void {
    this.#take(length);
  }

  number(width: 1 | 2): number {
    return this.#take(width).readUIntBE(0, width);
  }

  /** Bytes with their length in front, in a field of that width. */
  vector(width: 1 | 2): Fields {
    return new Fields(this.#take(this.number(width)));
  }

  /** What is left, one character for each byte. */
  rest(): string {
    return this.#take(this.#bytes.length - this.#at).toString("latin1");
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Malformed("a field is longer than its message");
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}
