import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, hear, openBackend, openProxyPath, say } from "../../../test/support/proxy-path.ts";
import { dialledTls, tls } from "../../../test/support/tls-path.ts";

const offer = (protocol: string) =>
  `GET /attach HTTP/1.1\r\nHost: nova\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
const switched = "HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

const ways = [
  { how: "in the open", isTls: false, dial: dialled },
  { how: "encrypted", isTls: true, dial: dialledTls },
];

describe.each(ways)("a tunnel, $how,", ({ isTls, dial }) => {
  const options = isTls ? { tls } : {};

  it("forwards an end that its client sent before the switch", async () => {
    let heard = "";
    await using backend = await openBackend((socket) => {
      socket.once("data", () => setImmediate(() => socket.write(switched)));
      socket.on("data", (bytes) => (heard += bytes.toString("latin1")));
      socket.on("end", () => socket.end(`heard ${heard.slice(heard.indexOf("\r\n\r\n") + 4)}`));
    });
    await using proxyPath = await openProxyPath(backend.port, options);
    const client = await dial(proxyPath.port);
    client.end(`${offer("tcp")}a job`);
    expect(await hear(client)).toBe(`${switched}heard a job`);
    await proxyPath.empty();
  });

  it("whose sandbox resets is reset for its client, and other connections are served on", async () => {
    await using backend = await openBackend((socket) => {
      socket.once("data", () => {
        socket.write(switched);
        socket.once("data", () => socket.resetAndDestroy());
      });
    });
    await using proxyPath = await openProxyPath(backend.port, options);
    for (let time = 0; time < 2; time += 1) {
      const client = await dial(proxyPath.port);
      const failed = new Promise((resolve) => client.once("error", resolve));
      client.once("data", () => client.write("now"));
      client.write(offer("tcp"));
      expect(await failed).toMatchObject({ code: "ECONNRESET" });
    }
    await proxyPath.empty();
  });
});

describe("data of a sandbox after its 101", () => {
  it("keeps no read buffer after the tunnel's end", async () => {
    const early = Buffer.concat([Buffer.from(switched), Buffer.alloc(40_000, "e")]);
    await using backend = await openBackend((socket) => {
      socket.once("data", () => socket.write(early)).once("end", () => socket.end());
    });
    await using proxyPath = await openProxyPath(backend.port);
    for (let time = 0; time < 10; time += 1) {
      const client = await dialled(proxyPath.port);
      let read = 0;
      client.on("data", (bytes: Buffer) => (read += bytes.length));
      client.write(offer("tcp"));
      await eventually(() => read === early.length);
      client.end();
    }
    await proxyPath.empty();
    expect(proxyPath.lent).toBe(0);
  });
});

describe("an offer to upgrade", () => {
  const ask = async (protocol: string, answer: string, rest = "\r\n") => {
    let head = "";
    await using backend = await openBackend((socket) => {
      socket.once("data", (bytes) => {
        head = bytes.toString("latin1");
        socket.end(answer);
      });
    });
    await using proxyPath = await openProxyPath(backend.port);
    const settings = "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n";
    const text = offer(protocol).replace(
      "Connection: Upgrade\r\n",
      `Connection: Upgrade, HTTP2-Settings\r\n${settings}`,
    );
    const heard = await say(proxyPath.port, text.replace("\r\n\r\n", `\r\nConnection: close\r\n${rest}`), "end");
    return { head, heard };
  };
  const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

  it.each(["h2c", "H2C", "h2", "HTTP/2.0", "TLS/1.2, HTTP/1.1"])(
    "of %s, by which later requests would go unseen, is no business of the sandbox",
    async (protocol) => {
      const { head, heard } = await ask(protocol, ok);
      expect(head).not.toMatch(/upgrade|http2-settings/i);
      expect(heard).toMatch(/^HTTP\/1.1 200 OK[\s\S]*ok$/);
    },
  );

  it.each([
    { client: "docker attach", protocol: "tcp", lines: "Connection: Upgrade\r\nContent-Type: text/plain\r\n" },
    { client: "kubectl exec", protocol: "SPDY/3.1", lines: "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n" },
  ])("passes in a POST whose length is 0, as of $client", async ({ protocol, lines }) => {
    const post = offer(protocol).replace("GET", "POST").replace("\r\n\r\n", `\r\n${lines}Content-Length: 0\r\n\r\n`);
    const answer = switched.replace("tcp", protocol);
    await using backend = await openBackend((socket) => {
      socket.once("data", (bytes) => {
        const isAsked = bytes.includes(`\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
        socket.end(isAsked ? `${answer}a prompt` : ok);
      });
    });
    await using proxyPath = await openProxyPath(backend.port);
    expect(await say(proxyPath.port, post)).toBe(`${answer}a prompt`);
    await proxyPath.empty();
  });

  it("beside a body is not forwarded", async () => {
    const { head, heard } = await ask("tcp", ok, "Content-Length: 2\r\n\r\n{}");
    expect(head).not.toMatch(/upgrade/i);
    expect(heard).toMatch(/^HTTP\/1.1 200 OK[\s\S]*ok$/);
  });

  it("of several protocols is forwarded without those", async () => {
    const { head } = await ask("h2c, websocket , TLS/1.0", ok);
    expect(head).toContain("\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n");
    expect(head).not.toMatch(/http2-settings/i);
  });

  it.each(["Upgrade: h2c\r\n", "Upgrade: websocket, h2c\r\n", ""])(
    "is no leave to switch to another protocol: %j",
    async (line) => {
      const { heard } = await ask("websocket, h2c", `HTTP/1.1 101 Go\r\nConnection: Upgrade\r\n${line}\r\n`);
      expect(heard).toMatch(/^HTTP\/1.1 502 /);
    },
  );

  it("in a 426 of the sandbox keeps the required protocols, without HTTP/2", async () => {
    const wire = "HTTP/1.1 426 Upgrade Required\r\nUpgrade: h2c, websocket\r\nContent-Length: 0\r\n\r\n";
    const { heard } = await ask("spdy/3.1", wire);
    expect(heard).toContain("\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n");
  });
});
