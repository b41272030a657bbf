import type { Speech } from "./speech.ts";

const charsOfGroup = 4;
/** Padding may follow any piece, so it ends a part and not the text. */
const form = /^[A-Za-z0-9+/]+={0,2}$/;

/** A conversation in base64. What is written at a time is encoded by itself, so there is padding within the text. */
export class Base64Speech implements Speech {
  readonly #plain: Speech;
  #rest = "";
  #broken: string | undefined;

  constructor(plain: Speech) {
    this.#plain = plain;
  }

  get last(): Buffer {
    return encode(this.#plain.last);
  }

  get broken(): string | undefined {
    return this.#broken ?? this.#plain.broken;
  }

  get closeCode(): number | undefined {
    return this.#plain.closeCode;
  }

  get closing(): Buffer | undefined {
    return this.#plain.closing;
  }

  get isBetween(): boolean {
    return this.#rest === "" && this.#plain.isBetween;
  }

  encode(from: number, to: number): Buffer {
    return encode(this.#plain.encode(from, to));
  }

  decode(bytes: Buffer): Buffer {
    const text = this.#rest + bytes.toString("latin1");
    const whole = text.slice(0, text.length - (text.length % charsOfGroup));
    this.#rest = text.slice(whole.length);
    // Node stops at padding, so each part up to it is decoded by itself.
    const parts = whole.match(/[^=]*=*/g)?.filter(Boolean) ?? [];
    const wrong = parts.find((part) => part.length % charsOfGroup !== 0 || !form.test(part));
    if (wrong !== undefined) this.#broken ??= `text that is not base64: ${JSON.stringify(wrong.slice(0, 60))}`;
    if (this.#broken !== undefined) return Buffer.alloc(0);
    return this.#plain.decode(Buffer.concat(parts.map((part) => Buffer.from(part, "base64"))));
  }
}

const encode = (bytes: Buffer): Buffer => Buffer.from(bytes.toString("base64"));
