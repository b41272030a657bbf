import { connect } from "node:net";
import { expect, it } from "vitest";
import { clientHello, padded } from "../../test/support/builders/client-hello.ts";
import { eventually } from "../../test/support/eventually.ts";
import { memoryInUse } from "../../test/support/heap-bytes.ts";
import { novaHost, openByNameWorld, openToAll } from "../../test/support/labs/by-name-lab.ts";
import { allocate, freeFrontPort, tcpPort, tcpProgram } from "../../test/support/labs/tcp-front-lab.ts";

const connections = 60;
const hello = padded(await clientHello({ servername: novaHost }), 12_000);
const upgrade = Buffer.concat([
  Buffer.from(`GET / HTTP/1.1\r\nHost: ${novaHost}\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n`),
  Buffer.alloc(8_000),
]);
const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n";

/** The memory of buffers that anything still refers to. */
const bufferBytes = async (): Promise<number> => (await memoryInUse()).arrayBuffers;

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const probe = connect(port, "127.0.0.1", () => resolve(probe.resetAndDestroy() !== undefined));
    probe.on("error", () => resolve(false));
  });

it.each([
  { way: "by name", first: hello },
  { way: "at an activator port", first: Buffer.alloc(4_000) },
  { way: "after an upgrade", first: upgrade },
] as const)(
  "relayed connections $way keep none of the bytes that came first",
  { timeout: 60_000 },
  async ({ way, first }) => {
    await using world = await openByNameWorld();
    let heard = 0;
    const program = tcpProgram((socket) => {
      socket.on("data", (bytes) => (heard += bytes.length));
      if (first === upgrade) socket.once("data", () => socket.write(switched));
    });
    await world.awake("nova", program, openToAll);
    const activatorPort = await freeFrontPort();
    const { uid = "" } = (await world.sandbox("nova")).metadata;
    await allocate(world.api.client, { name: "nova", uid }, { activatorPort, containerPort: tcpPort });
    const ports = {
      "by name": world.port,
      "at an activator port": activatorPort,
      "after an upgrade": world.activator.proxyPort,
    };
    await using clients = new AsyncDisposableStack();
    const begin = async (count: number) => {
      const before = heard;
      for (let made = 0; made < count; made += 1) {
        const client = connect({ port: ports[way], host: "127.0.0.1" }).on("error", () => {});
        clients.defer(() => void client.destroy());
        client.write(first);
      }
      await eventually(() => heard >= before + count * first.length);
    };
    await eventually(() => accepts(activatorPort));
    heard = 0;
    await begin(1);
    const before = await bufferBytes();
    await begin(connections);
    await expect.poll(async () => ((await bufferBytes()) - before) / connections).toBeLessThan(1_000);
  },
);
