/** One field of an encoded message. */
export interface WireField {
  readonly number: number;
  /** A varint, or the bytes of a string, a message or a byte string. */
  readonly value: bigint | Buffer;
}

/**
 * The fields of a protobuf message in their order.
 *
 * @throws RangeError when the bytes end within a field, or have a wire type that no object here uses.
 */
export function* wireFields(bytes: Buffer): Generator<WireField> {
  let at = 0;
  const readVarint = (): bigint => {
    let value = 0n;
    // Ten groups of seven bits hold any 64-bit number.
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a number is too long");
  };
  while (at < bytes.length) {
    const tag = Number(readVarint());
    const number = tag >>> 3;
    const wireType = tag & 7;
    if (wireType === 0) {
      yield { number, value: readVarint() };
      continue;
    }
    if (wireType !== 2) throw new RangeError(`field ${number} has wire type ${wireType}`);
    const length = Number(readVarint());
    if (at + length > bytes.length) throw new RangeError(`field ${number} is longer than its message`);
    yield { number, value: bytes.subarray(at, at + length) };
    at += length;
  }
}
