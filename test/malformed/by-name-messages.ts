import { encryptRequest } from "../../activator/by-name/postgres.ts";
import { clientHello, inRecordsOf } from "../support/builders/client-hello.ts";

/** First messages of clients that name a sandbox, whole and broken at the places where lengths are. */
export async function byNameMessages(servername: string): Promise<readonly Buffer[]> {
  const hello = await clientHello({ servername, ALPNProtocols: ["http/1.1"] });
  const others = await Promise.all(
    ["nobody.default.sandbox.localhost", "sandbox.localhost", "a.b.c.d.e", `${"x".repeat(63)}.test`].map((name) =>
      clientHello({ servername: name }),
    ),
  );
  const changedAt = (at: number, value: number) => {
    const changed = Buffer.from(hello);
    changed[at] = value;
    return changed;
  };
  const nameAt = hello.indexOf(servername);
  // The record's type and length, the message's length, the lengths of session and ciphers, and of the name.
  const places = [0, 1, 3, 4, 5, 6, 7, 8, 43, 76, 77, nameAt - 1, nameAt - 2, nameAt - 3, nameAt - 5, nameAt];
  return [
    hello,
    ...others,
    inRecordsOf(1, hello),
    Buffer.concat([hello, hello]),
    ...places.flatMap((at) => [changedAt(at, 0), changedAt(at, 255)]),
    ...[encryptRequest, Buffer.concat([encryptRequest, hello]), Buffer.concat([encryptRequest, encryptRequest])],
    Buffer.from("0000000804d2162e00000008", "hex"), // PostgreSQL's request to cancel, too short
  ];
}
