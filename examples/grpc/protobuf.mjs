// Messages of Protocol Buffers, as far as this example needs them: https://protobuf.dev/programming-guides/encoding/

const [varintType, bytesType] = [0, 2];

function varint(value) {
  const bytes = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** Writes fields: pairs of a number and a value, which is a number, a text, or the bytes of a message. */
export function messageOf(...fields) {
  const parts = fields.flatMap(([number, value]) => {
    if (typeof value === "number") return [varint(number * 8 + varintType), varint(value)];
    const bytes = Buffer.from(value);
    return [varint(number * 8 + bytesType), varint(bytes.length), bytes];
  });
  return Buffer.concat(parts);
}

/** Reads fields: numbers, or bytes, by number. Of a repeated field the last one counts. */
export function readMessage(bytes) {
  const fields = new Map();
  let at = 0;
  const next = () => {
    let [value, factor] = [0, 1];
    for (; bytes[at] > 127; at += 1, factor *= 128) value += (bytes[at] - 128) * factor;
    if (at >= bytes.length) throw new Error("the message is cut off");
    value += bytes[at] * factor;
    at += 1;
    return value;
  };
  while (at < bytes.length) {
    const tag = next();
    const [number, type] = [Math.floor(tag / 8), tag % 8];
    if (type !== varintType && type !== bytesType) throw new Error(`fields of type ${type} are not known here`);
    const value = next();
    if (type === varintType) fields.set(number, value);
    else {
      if (at + value > bytes.length) throw new Error("the message is cut off");
      fields.set(number, bytes.subarray(at, at + value));
      at += value;
    }
  }
  return fields;
}
