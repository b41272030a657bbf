import { describe, expect, it } from "vitest";
import { type Pod, podType } from "../../../api/kinds/core.ts";
import { type Clock, systemClock } from "../../../lib/time/clock.ts";
import { clientHello } from "../../../test/support/builders/client-hello.ts";
import { ipv6Block, version1, version2, withChecksum } from "../../../test/support/builders/proxy-headers.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openHttp2Client } from "../../../test/support/http2-client.ts";
import {
  aRequest,
  dial,
  dialTls,
  lyraHost,
  novaHost,
  openProxyHeadersWorld,
  proxyIp,
  secured,
} from "../../../test/support/labs/proxy-headers-lab.ts";
import { openSockets } from "../open-sockets.ts";

const header1 = version1("TCP4 192.0.2.1 10.0.0.1 56324 443");
const header2 = withChecksum({});
const headers = [
  { of: "version 1", header: header1, client: "192.0.2.1" },
  { of: "version 2", header: header2, client: "192.0.2.1" },
  {
    of: "version 2 with IPv6",
    header: version2({ family: 0x21, block: ipv6Block(`20010db8${"00".repeat(11)}01`) }),
    client: "2001:db8::1",
  },
  { of: "the proxy itself", header: version2({ versionAndCommand: 0x20, block: Buffer.alloc(0) }), client: proxyIp },
  { of: "an unknown client", header: version1("UNKNOWN"), client: proxyIp },
];
const listeners = ["http", "https", "tcp", "byName"] as const;
const refused = "rouse_activator_proxy_headers_refused_total";

describe("a connection from a named network", () => {
  it("is of the client that its header tells, to the sandbox and to the access log", async () => {
    await using world = await openProxyHeadersWorld();
    for (const { of, header, client } of headers) {
      using plain = await dial(world.ports.http, Buffer.concat([header, Buffer.from(aRequest)]));
      expect(await plain.until(`\r\n\r\n${client}`), of).toContain("HTTP/1.1 200 OK");
      using overTls = await dialTls(world.ports.https, header);
      overTls.socket.write(aRequest);
      expect(await overTls.until(`\r\n\r\n${client}`), of).toContain("HTTP/1.1 200 OK");
    }
    const logged = () => world.lines.filter(({ msg }) => msg === "request").map((line) => line["client_ip"]);
    await eventually(() => logged().length === 2 * headers.length);
    expect(logged()).toEqual(headers.flatMap(({ client }) => [client, client]));
  });

  it("may speak HTTP/2 behind its header, in clear text and within TLS", async () => {
    await using world = await openProxyHeadersWorld();
    using plain = await dial(world.ports.http, header2);
    plain.socket.removeAllListeners("data").pause();
    for (const socket of [plain.socket, await secured(world.ports.https, header2, { protocol: "h2" })]) {
      using client = openHttp2Client("http://nova", { createConnection: () => socket });
      expect(await client.ask({ ":authority": novaHost })).toMatchObject({ status: 200, body: "192.0.2.1" });
      expect(await client.ask({ ":authority": novaHost })).toMatchObject({ status: 200, body: "192.0.2.1" });
    }
  });

  it("keeps its client for each of its requests", async () => {
    await using world = await openProxyHeadersWorld();
    using client = await dial(world.ports.http, header1);
    for (const times of [1, 2, 3]) {
      client.socket.write(`GET / HTTP/1.1\r\nHost: ${novaHost}\r\n\r\n`);
      await eventually(() => client.received.split("192.0.2.1").length === times + 1);
    }
  });

  it("gets each byte behind its header to an activator port, and the log counts these bytes alone", async () => {
    await using world = await openProxyHeadersWorld();
    for (const { header, client } of headers) {
      using talk = await dial(world.ports.tcp, Buffer.concat([header, Buffer.from("ping ")]));
      talk.socket.write("PROXY TCP4 ");
      expect(await talk.until("PROXY TCP4 ")).toBe("ping PROXY TCP4 ");
      talk.socket.end();
      await talk.over;
      await eventually(() => world.lines.some((line) => line["msg"] === "connection"));
      expect(world.lines.find((line) => line["msg"] === "connection")).toMatchObject({
        client_ip: client,
        bytes_in: 16,
      });
      (world.lines as unknown[]).length = 0;
    }
  });

  it("names its sandbox in TLS behind its header", async () => {
    await using world = await openProxyHeadersWorld();
    using client = await dialTls(world.ports.byName, header2, { protocol: "echo", servername: lyraHost });
    await client.until("hello from lyra\n");
    client.socket.end("ping\n");
    await client.until("ping\n");
    await eventually(() => world.lines.some(({ msg }) => msg === "connection"));
    expect(world.lines.find(({ msg }) => msg === "connection")).toMatchObject({ client_ip: "192.0.2.1" });
  });

  it("may send its header byte by byte", async () => {
    await using world = await openProxyHeadersWorld();
    const hello = await clientHello({ servername: "nowhere.default.sandbox.localhost" });
    const sent = { http: aRequest, https: hello, tcp: "ping", byName: hello };
    const answers = { http: "192.0.2.1", https: "\x16\x03\x03", tcp: "ping", byName: "\x15\x03\x03\0\x02\x02\x70" };
    for (const listener of listeners) {
      using client = await dial(world.ports[listener], "");
      for (const byte of header2) {
        client.socket.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      client.socket.write(sent[listener]);
      await client.until(answers[listener]);
    }
  });

  it.each([
    { of: "other bytes", bytes: Buffer.from(aRequest), reason: "Missing" },
    { of: "a malformed header", bytes: version1("TCP4 nova nova 1 2"), reason: "Malformed" },
    { of: "a header that is too long", bytes: version2({ block: Buffer.alloc(5_000) }), reason: "TooLong" },
    { of: "a wrong checksum", bytes: withChecksum({}, 1), reason: "WrongChecksum" },
  ])("is reset with $of, counted, and logged once a minute", async ({ bytes, reason }) => {
    await using world = await openProxyHeadersWorld();
    for (const listener of [...listeners, ...listeners]) {
      using client = await dial(world.ports[listener], Buffer.concat([bytes, Buffer.from(aRequest)]));
      await client.over;
      expect(client.received).toBe("");
    }
    expect(await world.counted(refused, reason)).toBe(8);
    const logged = world.lines.filter(({ msg }) => msg === "connection rejected: no valid PROXY header");
    expect(logged).toMatchObject(listeners.map((listener) => ({ listener, reason, peer: proxyIp, level: "warn" })));
  });

  it("is reset if its header is late, and counted if it leaves within its header", async () => {
    await using world = await openProxyHeadersWorld(["--headers-timeout=300ms"]);
    for (const listener of listeners) {
      for (const sent of ["", header2.subarray(0, -1)]) {
        using client = await dial(world.ports[listener], sent);
        await client.over;
      }
    }
    expect(await world.counted(refused, "TimedOut")).toBe(8);
    for (const listener of listeners) {
      using _silent = await dial(world.ports[listener], "");
      using client = await dial(world.ports[listener], header1.subarray(0, 9));
      client.socket.end();
      await client.over;
    }
    await eventually(async () => (await world.counted(refused, "Truncated")) === 4);
    expect(await world.counted(refused, "Missing")).toBe(0);
  });

  it("leaves no socket behind, however it ends", async () => {
    await using world = await openProxyHeadersWorld();
    const before = openSockets();
    for (const listener of listeners) {
      for (const sent of [header2.subarray(0, 5), header2, Buffer.from("\0")]) {
        const client = await dial(world.ports[listener], sent);
        if (sent.length === 1) await client.over;
        else client.socket.resetAndDestroy();
      }
    }
    await eventually(() => openSockets() <= before);
  });
});

describe("a connection from another network", () => {
  it("is served without a header, and has none read", async () => {
    await using world = await openProxyHeadersWorld();
    const elsewhere = "127.0.0.3";
    using served = await dial(world.ports.http, aRequest, elsewhere);
    await served.until(`\r\n\r\n${elsewhere}`);
    for (const header of [header1, header2]) {
      const sent = Buffer.concat([header, Buffer.from(aRequest)]);
      using plain = await dial(world.ports.http, sent, elsewhere);
      expect(await plain.until("\r\n")).toMatch(/^HTTP\/1\.1 400 /);
      using tcp = await dial(world.ports.tcp, sent, elsewhere);
      expect(await tcp.until(aRequest)).toBe(sent.toString("latin1"));
      for (const listener of ["https", "byName"] as const) {
        using client = await dial(world.ports[listener], sent, elsewhere);
        await client.over;
        expect(client.received).not.toContain("HTTP/1.1 200");
      }
    }
    for (const reason of ["Missing", "Malformed", "TooLong"]) expect(await world.counted(refused, reason)).toBe(0);
  });
});

describe("the client that a header tells", () => {
  it("does not decide who may connect: the peer does", async () => {
    await using world = await openProxyHeadersWorld(["--allow-loopback-pod-ip=false"]);
    const podIP = "10.9.9.9";
    const pod: Pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "caller", namespace: "default" },
      spec: { containers: [{ name: "main", image: "program" }] },
    };
    await world.api.client.create(podType, pod);
    const status = { phase: "Running", podIP, podIPs: [{ ip: podIP }] };
    const where = { namespace: "default", name: "caller" };
    await world.api.client.patch(podType, where, { type: "merge", body: { status } }, { subresource: "status" });
    using client = await dial(world.ports.tcp, version1(`TCP4 ${podIP} 10.0.0.1 1 2`));
    await client.over;
    expect(await world.counted("rouse_activator_tcp_refused_total", "Loopback")).toBe(1);
    const rejected = world.lines.find(({ msg }) => msg === "TCP connection rejected");
    expect(rejected).toMatchObject({ reason: "Loopback", peer: proxyIp, clientIp: podIP });
  });

  it("does not pass for one whose X-Forwarded headers are believed", async () => {
    await using world = await openProxyHeadersWorld();
    const request = aRequest.replace(
      "\r\n\r\n",
      "\r\nX-Forwarded-For: 203.0.113.5\r\nForwarded: for=203.0.113.5\r\n\r\n",
    );
    using client = await dial(world.ports.http, Buffer.concat([header1, Buffer.from(request)]));
    expect(await client.until("192.0.2.1")).not.toContain("203.0.113.5");
  });
});

const refusesAll = (port: number): Promise<boolean> =>
  dial(port, "").then(
    (client) => client.socket.destroy() && false,
    () => true,
  );

describe("an activator that exits", () => {
  const patient = ["--headers-timeout=1h", "--shutdown-timeout=1h"];

  it.each(listeners)("waits for a header that has begun, and serves what follows it: %s", async (listener) => {
    const heldMs = systemClock.ticksMs();
    const clock: Clock = {
      now: () => systemClock.now(),
      ticksMs: () => heldMs, // no limit is reached, however busy this machine is
      after: (delayMs, task) => systemClock.after(delayMs, task),
      sleep: (delayMs, signal) => systemClock.sleep(delayMs, signal),
    };
    await using world = await openProxyHeadersWorld(patient, clock);
    using late = await dial(world.ports[listener], header1.subarray(0, 9));
    await eventually(() => late.socket.bytesWritten === 9);
    using before = await dial(world.ports[listener], aRequest, "127.0.0.3"); // accepted after it
    await before.until(listener === "tcp" ? aRequest : listener === "http" ? "127.0.0.3" : "");
    before.socket.destroy();
    let isOver = false;
    const drained = world.activator.drain().then(() => (isOver = true));
    await eventually(() => refusesAll(world.ports[listener]));
    expect(isOver).toBe(false);
    const hello = await clientHello({ servername: "nowhere.default.sandbox.localhost" });
    const sent = listener === "http" || listener === "tcp" ? Buffer.from(aRequest) : hello;
    late.socket.write(Buffer.concat([header1.subarray(9), sent]));
    const answers = { http: "192.0.2.1", https: "\x16\x03\x03", tcp: aRequest, byName: "\x15\x03\x03\0\x02\x02\x70" };
    await late.until(answers[listener]);
    late.socket.destroy();
    await drained;
  });

  it("gives a header one second", async () => {
    await using world = await openProxyHeadersWorld(patient);
    const clients = await Promise.all(listeners.map((listener) => dial(world.ports[listener], header1.subarray(0, 9))));
    await world.activator.drain();
    await Promise.all(clients.map(({ over }) => over));
    expect(await world.counted(refused, "TimedOut")).toBe(listeners.length);
  });

  it.each(["https", "byName"] as const)(
    "gives TLS that follows a header one second, too: %s",
    async (listener) => {
      await using world = await openProxyHeadersWorld(patient);
      using late = await dial(world.ports[listener], header1.subarray(0, 9));
      await eventually(() => late.socket.bytesWritten === 9);
      const drained = world.activator.drain();
      await eventually(() => refusesAll(world.ports[listener]));
      late.socket.write(header1.subarray(9));
      await Promise.all([drained, late.over]);
    },
    20_000,
  );
});
