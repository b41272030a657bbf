import { describe, expect, it } from "vitest";
import { drainServerName } from "../../api/drain-credentials.ts";
import { drainPaths } from "../../api/drain-protocol.ts";
import { makeAuthority, makeClientCertificate, makeServerCertificate } from "../../lib/certificates.ts";
import { FakeClock, systemClock } from "../../lib/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { startFakeActivator } from "../../test/support/fake-activator.ts";
import { DrainRefused, drainCalls } from "./drain-client.ts";

const validity = { notBefore: new Date("2020-01-01T00:00:00Z"), notAfter: new Date("2120-01-01T00:00:00Z") };
const question = { sandbox: { namespace: "lab", name: "nova", uid: "u" }, podUid: "p" };
const signal = new AbortController().signal;

async function makeSides(nameOfServer = drainServerName) {
  const authority = await makeAuthority("test", validity);
  const server = await makeServerCertificate(authority, {
    ...{ commonName: nameOfServer, dnsNames: [nameOfServer], ipAddresses: [] },
    validity,
  });
  const mine = await makeClientCertificate(authority, { commonName: "controller", organizations: [], validity });
  const authorities = authority.certificate;
  return { theirs: { ...server, authorities }, mine: { ...mine, authorities }, server };
}

describe("a call to an activator", () => {
  it("is answered when both sides know each other", async () => {
    await using activator = await startFakeActivator();
    const { theirs, mine } = await makeSides();
    activator.trust(theirs);
    activator.onPromise = () => 3;
    const call = drainCalls(() => mine, systemClock);
    const address = { host: "127.0.0.1", port: activator.port };
    expect(await call(address, drainPaths.promise, question, signal)).toEqual({ inFlight: 3 });
    await expect(call(address, "/nowhere", question, signal)).rejects.toThrow("400");
  });

  it("fails where the certificates are of others, or for another name", async () => {
    await using activator = await startFakeActivator();
    const ours = await makeSides();
    const others = await makeSides();
    activator.trust(ours.theirs);
    const address = { host: "127.0.0.1", port: activator.port };
    const ask = (mine: typeof ours.mine) =>
      drainCalls(() => mine, systemClock)(address, drainPaths.promise, question, signal);
    await expect(ask(others.mine)).rejects.toThrow();
    // It believes the activator, which does not believe it.
    await expect(ask({ ...others.mine, authorities: ours.mine.authorities })).rejects.toThrow();
    // An activator's own certificate is none to call with.
    await expect(ask({ ...ours.server, authorities: ours.mine.authorities })).rejects.toThrow();
    const misnamed = await makeSides("another.name");
    activator.trust(misnamed.theirs);
    await expect(ask(misnamed.mine)).rejects.toThrow();
    expect(activator.questions).toEqual([]);
  });

  it("is refused where nobody listens", async () => {
    const activator = await startFakeActivator();
    await activator[Symbol.asyncDispose]();
    const { mine } = await makeSides();
    const call = drainCalls(() => mine, systemClock)({ host: "127.0.0.1", port: activator.port }, "/", {}, signal);
    await expect(call).rejects.toThrow(DrainRefused);
  });

  it("does not wait for an answer for ever", async () => {
    await using activator = await startFakeActivator();
    const { theirs, mine } = await makeSides();
    activator.trust(theirs);
    activator.onPromise = () => new Promise(() => {});
    const clock = new FakeClock();
    const address = { host: "127.0.0.1", port: activator.port };
    let failure: unknown;
    drainCalls(() => mine, clock)(address, drainPaths.promise, question, signal).catch((error: unknown) => {
      failure = error;
    });
    await asTimePasses(clock, () => expect(failure).toBeInstanceOf(Error));
  });
});
