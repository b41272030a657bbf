import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { drainServerName } from "../../../api/between-programs/drain-credentials.ts";
import { drainPaths } from "../../../api/between-programs/drain-protocol.ts";
import { makeAuthority, makeClientCertificate, makeServerCertificate } from "../../../lib/certificates/certificates.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { asTimePasses } from "../../../test/support/as-time-passes.ts";
import { startFakeActivator } from "../../../test/support/fakes/fake-activator.ts";
import { DrainRefused, DrainUnknownCall, drainCalls } from "./drain-client.ts";

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
    await expect(call(address, "/nowhere", question, signal)).rejects.toThrow(DrainUnknownCall);
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

  it("fails at once if the other side switches protocols without a request", async () => {
    const upgrade = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
    const server = createServer((socket) => socket.on("error", () => {}).once("data", () => socket.write(upgrade)));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const call = drainCalls(() => undefined, new FakeClock());
    await expect(call({ host: "127.0.0.1", port }, drainPaths.promise, question, signal)).rejects.toThrow("protocols");
    await new Promise<void>((resolve) => server.close(() => resolve())); // when the connection is closed
  });

  it("is refused if the port is closed", async () => {
    const activator = await startFakeActivator();
    await activator[Symbol.asyncDispose]();
    const { mine } = await makeSides();
    const call = drainCalls(() => mine, systemClock)({ host: "127.0.0.1", port: activator.port }, "/", {}, signal);
    await expect(call).rejects.toThrow(DrainRefused);
  });

  it("waits as long as an activator may take to ask a workload, and no longer", async () => {
    const { mine } = await makeSides();
    const clock = new FakeClock();
    const hanging = createServer(() => {}).listen(0, "127.0.0.1");
    await once(hanging, "listening");
    using _hanging = { [Symbol.dispose]: () => void hanging.close() };
    const address = { host: "127.0.0.1", port: (hanging.address() as AddressInfo).port };
    let failure: unknown;
    drainCalls(() => mine, clock)(address, drainPaths.busy, question, signal).catch((error: unknown) => {
      failure = error;
    });
    await clock.advance(6_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(failure).toBeUndefined();
    await asTimePasses(clock, () => expect(failure).toBeInstanceOf(Error));
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
