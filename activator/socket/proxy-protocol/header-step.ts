/** Why a header is refused, by its bytes alone. */
export const headerFaults = ["Missing", "Malformed", "TooLong", "WrongChecksum"] as const;
export type HeaderFault = (typeof headerFaults)[number];

/** What the bytes so far mean. */
export type HeaderStep =
  | { readonly is: "incomplete" }
  | { readonly is: "refused"; readonly reason: HeaderFault }
  | {
      readonly is: "complete";
      /** The bytes of the header. What follows is no part of it. */
      readonly length: number;
      /** The address of the client, in the spelling of peers; undefined: the proxy speaks for itself, or says none. */
      readonly clientIp: string | undefined;
    };

export const incomplete: HeaderStep = { is: "incomplete" };
export const refusedAs = (reason: HeaderFault): HeaderStep => ({ is: "refused", reason });
