import { X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { makeCredentials } from "./credentials.ts";
import { makeDrainCredentials } from "./drain-credentials.ts";

it("the certificates of a run are valid whatever the clock says, also once it is corrected", async () => {
  const { authority, server } = await makeCredentials();
  const { activator, controller } = await makeDrainCredentials();
  const all = [authority, server.certificate, activator.certificate, controller.authorities, controller.certificate];
  for (const pem of all) {
    const { validFromDate, validToDate } = new X509Certificate(pem);
    expect([validFromDate.getUTCFullYear(), validToDate.getUTCFullYear()]).toEqual([1970, 9999]);
  }
});
