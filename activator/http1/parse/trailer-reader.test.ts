import { expect, it } from "vitest";
import { BodyFramer } from "./body-framer.ts";
import { uncounted } from "./section-reader.ts";

const refusalOf = (field: string) => {
  const framer = new BodyFramer(uncounted);
  framer.begin("chunked", -1);
  const bytes = Buffer.from(`0\r\n${field}\r\n\r\n`);
  framer.next(bytes, 0, bytes.length);
  return framer.refusal;
};

it.each([
  ...["X-Sandbox-ID: b", "X_Sandbox_ID: b", "X_Forwarded_For: b", "X.Forwarded.For: b", "x_real-ip: b"],
  ...["X-Forwarded-Port: 5", "X.Original-URL: /", "X-HTTP_Method-Override: PUT", "Forwarded: for=b"],
  ...["Content_Length: 5", "Transfer_Encoding: chunked", "Proxy_Authorization: b"],
])("a trailer may not be %s, however its name is spelt", (field) => {
  expect(refusalOf(field)).toBe("TrailerForbidden");
});

it("other trailers may have any name", () => {
  expect(refusalOf("X_Checksum.Crc: 5")).toBeUndefined();
});
