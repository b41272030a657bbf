import { headerFamily, programsRead } from "../../headers/header-family.ts";
import { FieldSection } from "./field-section.ts";
import type { Refusal } from "./refusals.ts";
import { type SectionLimits, SectionReader } from "./section-reader.ts";

const trailerLimits: SectionLimits = { sectionBytesMax: 8_192, fieldsMax: 32 };

/**
 * Fields that are used before the body (RFC 9110 6.5.1): framing, routing, authentication, request modifiers, content metadata,
 * and fields of one connection. A program that merged them into the head would see another message than the activator.
 */
const forbiddenNames: ReadonlySet<string> = new Set(
  `accept-encoding age authorization cache-control connection content-encoding content-length content-range content-type
  cookie date expect expires host http2-settings if-match if-modified-since if-none-match if-range
  if-unmodified-since keep-alive location max-forwards origin pragma proxy-authenticate proxy-authorization
  proxy-connection range retry-after set-cookie te trailer transfer-encoding upgrade vary via warning www-authenticate`.split(
    /\s+/,
  ),
);

/** Reads the trailers of a chunked body by the rules of all fields. */
export class TrailerReader extends SectionReader<FieldSection> {
  constructor(limits: SectionLimits = trailerLimits) {
    super(new FieldSection(), limits);
  }

  protected override beginSection(): void {}

  protected override readStartLine(): true {
    return this.startFields(this.at);
  }

  protected override judgeField(index: number): Refusal | undefined {
    const name = this.section.name(index);
    const isForbidden = headerFamily(name) !== undefined || forbiddenNames.has(programsRead(name));
    return isForbidden ? "TrailerForbidden" : undefined;
  }

  protected override judgeSection(): undefined {
    return undefined;
  }
}
