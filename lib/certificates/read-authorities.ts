import { X509Certificate } from "node:crypto";

const beginning = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/g;
const end = /-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g;
const block = /-----BEGIN (X509 )?CERTIFICATE-----[^-]*-----END \1?CERTIFICATE-----/g;

/**
 * The CA certificates of a PEM text, without anything else in it. TLS reads such a text up to the first block that it cannot read, and
 * says nothing: clients of the CAs behind it would be refused.
 *
 * @throws Error unless there is a certificate, and each can be read and is that of a CA.
 */
export function readAuthorities(text: string): string {
  const blocks = text.match(block) ?? [];
  const begun = text.match(beginning)?.length ?? 0;
  const ended = text.match(end)?.length ?? 0;
  if (begun === 0) throw new Error("it has no certificate");
  if (begun !== blocks.length || ended !== blocks.length)
    throw new Error("it has a certificate that is cut or malformed");
  for (const [index, pem] of blocks.entries()) {
    const which = `its certificate ${index + 1} of ${blocks.length}`;
    if (!parsed(pem, which).ca) throw new Error(`${which} is not that of a CA`);
  }
  return blocks.join("\n");
}

function parsed(pem: string, which: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new Error(`${which} cannot be read`, { cause });
  }
}
