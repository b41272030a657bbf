import { describe, expect, it } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { clientHello } from "../../test/support/builders/client-hello.ts";
import { eventually } from "../../test/support/eventually.ts";
import {
  novaHost,
  openByNameWorld,
  openToAll,
  postgresProgram,
  securedEcho,
  talkAsPostgres,
  talkSecurely,
  tlsProgram,
} from "../../test/support/labs/by-name-lab.ts";
import { talkTo, tcpPort, tcpProgram } from "../../test/support/labs/tcp-front-lab.ts";
import { encryptRequest } from "./postgres.ts";
import { missingName, unknownName } from "./tls-alerts.ts";

const nova = { namespace: "default", name: "nova" };

const declaring = (...ports: readonly number[]) => ({
  spec: { containers: [{ name: "main", image: "program", ports: ports.map((containerPort) => ({ containerPort })) }] },
});

describe("a TLS client that names a sandbox", () => {
  it("wakes it, and speaks with its certificate", async () => {
    await using world = await openByNameWorld();
    await world.asleep("nova", tlsProgram(securedEcho("nova")), openToAll);
    using client = await talkSecurely(world.port, { ALPNProtocols: ["echo"] });
    await client.until("hello from nova\n");
    client.socket.write("ping\n");
    expect(await client.until("ping\n")).toBe("hello from nova\nping\n");
    expect([client.socket.authorized, client.socket.alpnProtocol]).toEqual([true, "echo"]);
    expect(world.kubelet.made("nova")).toBe(1);
    expect(await world.metric("rouse_activator_tcp_connections", { state: "relayed" })).toBe(1);
  });

  it("names a port as in a host name", async () => {
    await using world = await openByNameWorld();
    const podTemplate = declaring(9999, tcpPort);
    await world.asleep("nova", tlsProgram(securedEcho("nova")), { ...openToAll, podTemplate });
    using client = await talkSecurely(world.port, { servername: `${tcpPort}--nova--default.sandbox.localhost` });
    expect(await client.until("\n")).toBe("hello from nova\n");
  });

  it("gets an alert, and wakes nothing, if it names a port that the sandbox does not declare", async () => {
    await using world = await openByNameWorld();
    await world.asleep("nova", tlsProgram(securedEcho("nova")), openToAll);
    await expect(talkSecurely(world.port, { servername: `9999--nova--default.sandbox.localhost` })).rejects.toThrow(
      /unrecognized name/i,
    );
    expect([world.kubelet.made("nova"), await world.refused("PortNotDeclared")]).toEqual([0, 1]);
  });

  it("gets each byte to the sandbox as it sent it, in any number of packets", async () => {
    await using world = await openByNameWorld();
    let received = Buffer.alloc(0);
    const program = tcpProgram((socket) => {
      socket.on("data", (bytes: Buffer) => (received = Buffer.concat([received, bytes])));
    });
    await world.awake("nova", program, openToAll);
    const hello = await clientHello({ servername: novaHost });
    using client = await talkTo(world.port);
    client.socket.setNoDelay(true);
    for (const byte of hello) {
      client.socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    client.socket.write("and what follows");
    await eventually(() => received.length >= hello.length + 16);
    expect(received.equals(Buffer.concat([hello, Buffer.from("and what follows")]))).toBe(true);
  });

  it("is held like a request, and leaves its slot when it goes", async () => {
    await using world = await openByNameWorld();
    await world.asleep("nova", undefined, openToAll);
    using client = await talkTo(world.port);
    client.socket.write(await clientHello({ servername: novaHost }));
    await eventually(async () => (await world.metric("rouse_activator_held_requests")) === 1);
    client.socket.end();
    await eventually(async () => (await world.metric("rouse_activator_held_requests")) === 0);
    expect(await world.metric("rouse_activator_tcp_connections_total", { outcome: "clientLeft" })).toBe(1);
  });

  it("is reset at once, as at an activator port, if its sandbox is asleep and trigger is Never", async () => {
    await using world = await openByNameWorld();
    await world.asleep("nova", undefined, { autoResume: { allowFrom: "Any", trigger: "Never" } });
    using client = await talkTo(world.port);
    client.socket.write(await clientHello({ servername: novaHost }));
    expect(await client.over()).toBe("reset");
    expect(await world.metric("rouse_activator_tcp_refused_total", { reason: "WakeNotAllowed" })).toBe(1);
  });

  it("is reset if the owner closes the sandbox to it while it is held", async () => {
    await using world = await openByNameWorld();
    const gate = Promise.withResolvers<void>();
    const program = tlsProgram(securedEcho("nova"));
    await world.asleep("nova", (podIp) => gate.promise.then(() => program(podIp)), openToAll);
    const hello = await clientHello({ servername: novaHost });
    using clients = new DisposableStack();
    const begin = async () => {
      const client = clients.use(await talkTo(world.port));
      client.socket.write(hello);
      return client;
    };
    const first = await begin();
    await eventually(async () => (await world.metric("rouse_activator_held_requests")) === 1);
    const body = { spec: { autoResume: { allowFrom: "Cluster" as const } } };
    await world.api.client.patch(sandboxType, nova, { type: "merge", body });
    // A new client that is refused shows that the activator has seen it.
    await eventually(async () => (await begin()) && (await world.refused("NotAllowedByName")) > 0);
    const before = await world.refused("NotAllowedByName");
    gate.resolve();
    expect(await first.over()).toBe("reset");
    expect(await world.refused("NotAllowedByName")).toBeGreaterThan(before);
    expect(await world.metric("rouse_activator_tcp_connections_total", { outcome: "relayed" })).toBe(0);
  });
});

describe("a name that leads nowhere", () => {
  /** Connects with a name, and returns what comes back, and after how many milliseconds by the clock of the activator. */
  async function answerTo(port: number, servername: string): Promise<string> {
    using client = await talkTo(port);
    client.socket.write(await clientHello({ servername }));
    expect(await client.over()).toBe("ended");
    return client.received;
  }

  it("gets the same answer whether there is such a sandbox or not, and wakes nothing", async () => {
    await using world = await openByNameWorld();
    await world.asleep("nova", tlsProgram(securedEcho("nova")), { ...openToAll, autoResume: { allowFrom: "Cluster" } });
    const answers = await Promise.all(
      [novaHost, "vega.default.sandbox.localhost", "vega.den.sandbox.localhost"].map((name) =>
        answerTo(world.port, name),
      ),
    );
    expect(new Set(answers)).toEqual(new Set([unknownName.toString("latin1")]));
    expect(world.kubelet.made("nova")).toBe(0);
    expect((await world.sandbox("nova")).spec.operatingMode).toBe("Suspended");
    expect([await world.refused("NotAllowedByName"), await world.refused("UnknownName")]).toEqual([1, 2]);
  });

  it("is told by an alert that TLS clients know", async () => {
    await using world = await openByNameWorld();
    await expect(talkSecurely(world.port, { servername: "example.com" })).rejects.toThrow(/unrecognized name/i);
    await expect(talkSecurely(world.port, { servername: "" })).rejects.toThrow();
    expect(await world.refused("NoName")).toBe(1);
    using nameless = await talkTo(world.port);
    nameless.socket.write(await clientHello({}));
    await nameless.over();
    expect(nameless.received).toBe(missingName.toString("latin1"));
  });

  it("leads to a sandbox that is created a moment later", async () => {
    await using world = await openByNameWorld();
    const talking = talkSecurely(world.port);
    await world.awake("nova", tlsProgram(securedEcho("nova")), openToAll);
    using client = await talking;
    expect(await client.until("\n")).toBe("hello from nova\n");
  });
});

describe("a client of PostgreSQL", () => {
  it("wakes a database by name, with TLS asked for in clear text", async () => {
    await using world = await openByNameWorld();
    const requests: Buffer[] = [];
    const program = postgresProgram(securedEcho("nova"), { onRequest: (bytes) => requests.push(bytes) });
    await world.asleep("nova", program, openToAll);
    using client = await talkAsPostgres(world.port);
    expect(await client.until("\n")).toBe("hello from nova\n");
    expect(requests).toEqual([encryptRequest]);
    using direct = await talkSecurely(world.port, { ALPNProtocols: ["postgresql"] });
    expect(await direct.until("\n")).toBe("hello from nova\n");
    expect(requests[1]?.[0]).toBe(22);
  });

  it.each([
    { what: "says no", answer: "N", reason: "SandboxWithoutTls" },
    { what: "answers something else", answer: "E", reason: "SandboxTlsUnanswered" },
    { what: "adds bytes in clear text", answer: "Sx", reason: "SandboxTlsUnanswered" },
    { what: "says nothing", answer: "", reason: "SandboxTlsUnanswered" },
  ])("is reset if the sandbox $what", async ({ answer, reason }) => {
    await using world = await openByNameWorld(["--connect-timeout=300ms"]);
    await world.awake("nova", postgresProgram(securedEcho("nova"), { answer }), openToAll);
    await expect(talkAsPostgres(world.port)).rejects.toThrow();
    await eventually(async () => (await world.refused(reason)) === 1);
    expect(await world.metric("rouse_activator_tcp_connections", { state: "relayed" })).toBe(0);
  });

  it("ends the sandbox's connection if it leaves before the sandbox has answered", async () => {
    await using world = await openByNameWorld();
    let asked = 0;
    let gone = 0;
    const program = tcpProgram((socket) => {
      socket.once("data", () => (asked += 1)).once("end", () => (gone += 1));
    });
    await world.awake("nova", program, openToAll);
    using client = await talkTo(world.port);
    client.socket.write(encryptRequest);
    await client.until("S");
    client.socket.write(await clientHello({ servername: novaHost }));
    await eventually(() => asked === 1);
    client.socket.destroy();
    await eventually(() => gone === 1);
    await eventually(async () => (await world.metric("rouse_activator_tcp_connections", { state: "waiting" })) === 0);
    expect(await world.refused("SandboxTlsUnanswered")).toBe(0);
  });
});

describe("a replica that leaves", () => {
  it("finishes connections by name, and accepts none", async () => {
    await using world = await openByNameWorld(["--shutdown-timeout=30s"]);
    await world.awake("nova", tlsProgram(securedEcho("nova")), openToAll);
    using client = await talkSecurely(world.port);
    await client.until("hello from nova\n");
    let isDrained = false;
    const drained = world.activator.drain().then(() => (isDrained = true));
    await eventually(() =>
      talkTo(world.port).then(
        (late) => late[Symbol.dispose](),
        (error) => error.code === "ECONNREFUSED",
      ),
    );
    client.socket.write("ping\n");
    await client.until("ping\n");
    expect(isDrained).toBe(false);
    client.socket.end();
    await drained;
  });

  it("resets what is held when its time is over", async () => {
    await using world = await openByNameWorld(["--shutdown-timeout=0s"]);
    await world.asleep("nova", undefined, openToAll);
    using client = await talkTo(world.port);
    client.socket.write(await clientHello({ servername: novaHost }));
    await eventually(async () => (await world.metric("rouse_activator_held_requests")) === 1);
    await world.activator.drain();
    expect(await client.over()).toBe("reset");
    expect(await world.refused("Draining")).toBe(1);
  });
});
