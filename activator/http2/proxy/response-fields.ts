import { type ClientView, fieldFor } from "../../headers/base-path.ts";
import { keepsResponseHeader, strippedByConnection } from "../../headers/forward-headers.ts";
import type { FieldSection } from "../../http1/parse/field-section.ts";
import { connectionOption } from "../../http1/parse/message-facts.ts";
import type { ResponseHead } from "../../http1/parse/response-head.ts";
import type { HeaderPair } from "../../request.ts";

/** Fields that have one value. Clients of HTTP/2 read a repeated one in different ways, or reset the stream. */
const singleNames: ReadonlySet<string> = new Set(
  `access-control-allow-credentials access-control-max-age age content-disposition content-encoding content-language
  content-length content-location content-md5 content-range content-type date etag expires last-modified location
  max-forwards retry-after tk x-content-type-options`.split(/\s+/),
);

/** What a head loses besides the fields of the connection to the sandbox. */
export interface FieldRules {
  readonly keepsTrailer: boolean;
  /** Names in lower case. */
  readonly drops?: ReadonlySet<string>;
  /** Absent: the fields that stay are not changed. */
  readonly view?: ClientView | undefined;
}

const none: ReadonlySet<string> = new Set();

/** The fields of a sandbox's response for a client of HTTP/2: names in lower case and values, in turn. */
export function responseFields(head: ResponseHead, { keepsTrailer, drops = none, view }: FieldRules): string[] {
  const stripped = head.facts.has(connectionOption.other)
    ? strippedByConnection(head.valueOf("connection") ?? "")
    : none;
  const fields: string[] = [];
  const seen = new Set<string>();
  for (let index = 0; index < head.fieldCount; index += 1) {
    const name = head.name(index).toLowerCase();
    if (!keepsResponseHeader(name, keepsTrailer) || stripped.has(name) || drops.has(name)) continue;
    if (singleNames.has(name)) {
      if (seen.has(name)) continue;
      seen.add(name);
    }
    const value = view ? fieldFor(view, name, head.value(index)) : head.value(index);
    if (value !== undefined) fields.push(name, value);
  }
  return fields;
}

/** The trailers of a response, without those that only the activator writes: names in lower case. */
export function* trailersOf(section: FieldSection): Generator<HeaderPair> {
  for (let index = 0; index < section.fieldCount; index += 1) {
    const name = section.name(index).toLowerCase();
    if (keepsResponseHeader(name, true)) yield [name, section.value(index)];
  }
}
