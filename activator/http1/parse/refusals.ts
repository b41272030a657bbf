/** Why a message is refused, with the status for the client: that of RFC 9112 where it names one. A refused response becomes a 502. */
export const refusals = {
  // The start line.
  EmptyLinesBeforeMessage: 400,
  MethodInvalid: 400,
  MethodTooLong: 501, // RFC 9112 3: a method longer than any it implements
  TargetInvalid: 400,
  TargetTooLong: 414, // RFC 9112 3
  VersionInvalid: 400,
  VersionUnsupported: 505,
  StartLineInvalid: 400,
  StatusInvalid: 400,
  ReasonPhraseInvalid: 400,

  // Lines and fields, in heads and in trailers.
  BareLf: 400,
  BareCr: 400,
  LineFolded: 400, // RFC 9112 5.2
  FieldNameEmpty: 400,
  FieldNameInvalid: 400,
  SpaceBeforeColon: 400, // RFC 9112 5.1
  FieldValueInvalid: 400, // RFC 9110 5.5
  SectionTooLarge: 431, // RFC 6585 5
  TooManyFields: 431,

  // What the fields say together.
  HostMissing: 400, // RFC 9112 3.2
  HostRepeated: 400,
  HostInvalid: 400,
  HostDisagrees: 400,
  ConnectionInvalid: 400,
  ConnectionTooLong: 431, // RFC 6585 5
  ContentLengthInvalid: 400, // RFC 9112 6.3
  ContentLengthRepeated: 400,
  ContentLengthTooLarge: 413,
  LengthAndTransferEncoding: 400, // RFC 9112 6.1
  TransferEncodingInvalid: 400,
  TransferEncodingRepeated: 400,
  TransferEncodingUnsupported: 501, // RFC 9112 6.1
  TransferEncodingInHttp10: 400,
  BodyForbidden: 400,
  UpgradeNotAsked: 400,
  InterimsTooMany: 400, // of a response
  HeadShed: 400, // of a response: unfinished heads took too much memory

  // The body.
  ChunkSizeInvalid: 400,
  ChunkTooLarge: 413,
  ChunkExtensionInvalid: 400,
  ChunkExtensionsTooLong: 400,
  ChunkEndMissing: 400,
  TrailerForbidden: 400, // RFC 9110 6.5.1
} as const satisfies Record<string, 400 | 413 | 414 | 431 | 501 | 505>;

export type Refusal = keyof typeof refusals;
export type RefusalStatus = (typeof refusals)[Refusal];

/** The status for the client of a refused request. */
export function statusOf(refusal: Refusal): RefusalStatus {
  return refusals[refusal];
}
