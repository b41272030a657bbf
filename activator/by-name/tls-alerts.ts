/** A fatal alert in clear text (RFC 8446, 6), which every client of TLS shows to its user. */
const alert = (description: number): Buffer => Buffer.from([21, 3, 3, 0, 2, 2, description]);

/** The ClientHello cannot be read. */
export const decodeError: Buffer = alert(50);
/** It has no server name. */
export const missingName: Buffer = alert(109);
/** Its server name leads nowhere. */
export const unknownName: Buffer = alert(112);
