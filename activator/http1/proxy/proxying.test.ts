import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { httpProgram, openActivatorWorld, rawConnection } from "../../../test/support/labs/activator-world.ts";

const host = "Host: nova.default.sandbox.localhost\r\n";

const read = async (request: IncomingMessage) => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
};

describe("a proxied request", () => {
  it("keeps its raw path, header order and duplicates, and names the client", async () => {
    await using world = await openActivatorWorld();
    await world.awake(
      "nova",
      httpProgram((request, response) => response.end(JSON.stringify([request.url, request.rawHeaders]))),
    );
    using connection = await rawConnection(world.activator);
    connection.send(
      `GET /a%2F..%2fb//./c/../d?q=%20+ HTTP/1.1\r\n${host}Cookie: a=1\r\nX-Two: 1\r\nx-two: 2\r\nAuthorization: Basic eA==\r\n` +
        "Origin: http://nova\r\nForwarded: for=evil\r\nX-Forwarded-For: 6.6.6.6\r\nX.Forwarded.For: 6.6.6.6\r\n" +
        "x-forwarded-port: 6\r\nX_Forwarded-Prefix: /evil\r\nX-Forwarded: 6\r\nKeep-Alive: 5\r\nX-Secret: 1\r\nTE: trailers\r\n" +
        "Connection: close, X-Secret\r\n\r\n",
    );
    const [url, headers] = JSON.parse((await connection.closed()).split("\r\n\r\n")[1] ?? "");
    expect(url).toBe("/a%2F..%2fb//./c/../d?q=%20+");
    expect(headers).toEqual([
      ...["Host", "nova.default.sandbox.localhost", "Cookie", "a=1", "X-Two", "1", "x-two", "2"],
      ...["Authorization", "Basic eA==", "Origin", "http://nova", "X-Forwarded-For", "127.0.0.1"],
      ...["X-Forwarded-Host", "nova.default.sandbox.localhost", "X-Forwarded-Proto", "http", "TE", "trailers"],
      ...["Connection", "keep-alive"],
    ]);
  });

  it("that headers route gets the Pod's Host and loses its Authorization", async () => {
    await using world = await openActivatorWorld();
    await world.awake(
      "nova",
      httpProgram(({ headers }, response) => response.end(JSON.stringify(headers))),
    );
    const headers = {
      "X-Sandbox-ID": "nova",
      "X-Sandbox-Timeout": "60",
      "X-Sandbox-UID": "u",
      Authorization: "Bearer x",
    };
    const seen = (await (await fetch(world.activator.proxyUrl, { headers })).json()) as Record<string, string>;
    expect(seen).toMatchObject({ host: expect.stringMatching(/^127\..*:8888$/), "x-sandbox-id": "nova" });
    expect(Object.keys(seen)).not.toEqual(expect.arrayContaining(["authorization"]));
    expect(seen["x-sandbox-timeout"] ?? seen["x-sandbox-uid"] ?? seen["transfer-encoding"]).toBeUndefined();
  });

  it("keeps chunks and trailers in both directions", async () => {
    await using world = await openActivatorWorld();
    const program = httpProgram(async (request, response) => {
      const body = await read(request);
      response.writeHead(200, { Trailer: "X-Sum" });
      response.write(`${request.headers["transfer-encoding"]} ${body} ${request.trailers["x-end"]}`);
      response.addTrailers({ "X-Sum": "7" });
      response.end();
    });
    await world.awake("nova", program);
    using connection = await rawConnection(world.activator);
    connection.send(
      `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nTrailer: X-End\r\nConnection: close\r\n\r\n`,
    );
    connection.send("3\r\nabc\r\n");
    connection.send("2\r\nde\r\n0\r\nX-End: yes\r\n\r\n");
    const answer = await connection.closed();
    expect(answer).toContain("chunked abcde yes");
    expect(answer).toContain("Trailer: X-Sum");
    expect(answer).toMatch(/0\r\nX-Sum: 7\r\n\r\n$/);
  });

  it.each([
    { method: "HEAD", status: 200, head: "Content-Length: 5" },
    { method: "GET", status: 204, head: "HTTP/1.1 204" },
    { method: "GET", status: 304, head: "HTTP/1.1 304" },
  ])(
    "has no body after $method and $status, and its connection serves the next one",
    async ({ method, status, head }) => {
      await using world = await openActivatorWorld();
      const program = httpProgram((request, response) => {
        if (request.url === "/next") response.end("next");
        else response.writeHead(status, status === 200 ? { "Content-Length": 5 } : {}).end();
      });
      await world.awake("nova", program);
      using connection = await rawConnection(world.activator);
      connection.send(`${method} / HTTP/1.1\r\n${host}\r\n`);
      expect(await connection.until("\r\n\r\n")).toContain(head);
      connection.send(`GET /next HTTP/1.1\r\n${host}Connection: close\r\n\r\n`);
      expect(await connection.closed()).toMatch(/\r\n\r\nHTTP\/1.1 200 OK[\s\S]*next$/);
    },
  );

  it("gets 100 Continue once there is a connection to the sandbox", async () => {
    await using world = await openActivatorWorld();
    let served = false;
    const program = httpProgram(async (request, response) => {
      served = true;
      response.end(`${request.headers.expect} ${await read(request)}`);
    });
    await world.asleep("nova", program);
    using connection = await rawConnection(world.activator);
    connection.send(`POST / HTTP/1.1\r\n${host}Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`);
    expect(await connection.until("HTTP/1.1 100 Continue\r\n\r\n")).not.toContain("200");
    await eventually(() => served);
    connection.send("hi");
    expect(await connection.closed()).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200[\s\S]*undefined hi$/);
  });

  it("gets no interim response but 100", async () => {
    await using world = await openActivatorWorld();
    const program = httpProgram((_, response) => {
      response.writeEarlyHints({ link: "</a.css>; rel=preload" });
      response.writeProcessing();
      response.end("done");
    });
    await world.awake("nova", program);
    using connection = await rawConnection(world.activator);
    connection.send(`GET / HTTP/1.1\r\n${host}Connection: close\r\n\r\n`);
    expect(await connection.closed()).toMatch(/^HTTP\/1.1 200 OK/);
  });

  it("gets each event of a stream as soon as it is sent", async () => {
    await using world = await openActivatorWorld();
    let say = (_text: string) => {};
    const program = httpProgram((_, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
      say = (text) => void response.write(`data: ${text}\n\n`);
    });
    await world.awake("nova", program);
    using connection = await rawConnection(world.activator);
    connection.send(`GET / HTTP/1.1\r\n${host}\r\n`);
    await connection.until("text/event-stream");
    say("one");
    await connection.until("data: one");
    say("two");
    await connection.until("data: two");
  });

  it("is answered before the end of its body, and the connection then closes", async () => {
    await using world = await openActivatorWorld();
    await world.awake(
      "nova",
      httpProgram((_, response) => response.writeHead(413).end("too much")),
    );
    using connection = await rawConnection(world.activator);
    connection.send(`POST / HTTP/1.1\r\n${host}Content-Length: 1000000\r\n\r\nabc`);
    expect(await connection.closed()).toMatch(/^HTTP\/1.1 413[\s\S]*too much/);
  });

  it("is cut, not completed, if the sandbox breaks off in its response", async () => {
    await using world = await openActivatorWorld();
    const program = httpProgram((_, response) => {
      response.writeHead(200, { "Content-Length": "100" }).write("half");
      setTimeout(() => response.destroy(), 20);
    });
    await world.awake("nova", program);
    using connection = await rawConnection(world.activator);
    connection.send(`GET / HTTP/1.1\r\n${host}\r\n`);
    expect(await connection.closed()).toMatch(/half$/);
  });

  it("is sent once, and gets 502, if the sandbox closes the connection without a response", async () => {
    await using world = await openActivatorWorld();
    let seen = 0;
    await world.awake(
      "nova",
      httpProgram((request) => {
        seen += 1;
        request.socket.destroy();
      }),
    );
    const response = await fetch(world.activator.proxyUrl, {
      method: "POST",
      body: "x",
      headers: { "X-Sandbox-ID": "nova" },
    });
    expect([response.status, response.headers.get("x-rouse-reason"), await response.json()]).toEqual([
      502,
      "ResponseLost",
      { detail: "Could not connect to the backend sandbox: nova" },
    ]);
    expect(seen).toBe(1);
  });

  it("is answered with 504 when the sandbox takes longer than X-Sandbox-Timeout to begin", async () => {
    await using world = await openActivatorWorld();
    await world.awake(
      "nova",
      httpProgram(() => {}),
    );
    await fetch(world.activator.proxyUrl, { headers: { "X-Sandbox-ID": "nova", "X-Sandbox-Timeout": "1.2" } }).catch(
      () => {},
    );
    const headers = { "X-Sandbox-ID": "nova", "X-Sandbox-Timeout": "1.2" };
    const response = await fetch(world.activator.proxyUrl, { headers });
    expect([response.status, await response.json()]).toEqual([
      504,
      { detail: "Timed out waiting for the backend sandbox: nova" },
    ]);
  });

  it("reuses an idle connection if it is safe, and else gets a new one", async () => {
    await using world = await openActivatorWorld();
    const ports: (number | undefined)[] = [];
    const silent = httpProgram(
      (request, response) => {
        ports.push(request.socket.remotePort);
        request.resume();
        response.end();
      },
      (server) => {
        server.keepAliveTimeout = 0;
      },
    );
    await world.awake("nova", silent);
    const ask = (method: string) =>
      fetch(world.activator.proxyUrl, { method, headers: { "X-Sandbox-ID": "nova" } }).then((r) => r.text());
    for (const method of ["GET", "GET", "GET", "POST"]) await ask(method);
    expect(new Set(ports.slice(0, 3)).size).toBe(1);
    expect(ports[3]).not.toBe(ports[0]);
  });
});

describe("a body", () => {
  it.each(["Content-Length: 5", "Transfer-Encoding: chunked"])("over the limit is rejected: %s", async (framing) => {
    await using world = await openActivatorWorld(["--max-request-body-bytes=4"]);
    await world.awake(
      "nova",
      httpProgram((request, response) => void request.on("end", () => response.end()).resume()),
    );
    using connection = await rawConnection(world.activator);
    const body = framing.startsWith("C") ? "abcde" : "5\r\nabcde\r\n0\r\n\r\n";
    connection.send(`POST / HTTP/1.1\r\n${host}${framing}\r\nConnection: close\r\n\r\n${body}`);
    expect(await connection.closed()).toMatch(/^HTTP\/1.1 413[\s\S]*{"detail":"Request body too large."}$/);
  });

  it("is read at the sandbox's pace, and sent at the client's", async () => {
    await using world = await openActivatorWorld();
    const bytes = 64 * 1024 * 1024;
    let produced = 0;
    const program = httpProgram((request, response) => {
      request.pause(); // takes nothing
      const chunk = Buffer.alloc(64 * 1024);
      const more = () => {
        while (produced < bytes) {
          produced += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", more);
        }
      };
      more();
    });
    await world.awake("nova", program);
    using connection = await rawConnection(world.activator);
    connection.socket.pause();
    connection.send(`POST / HTTP/1.1\r\n${host}Content-Length: ${bytes}\r\n\r\n`);
    connection.socket.write(Buffer.alloc(bytes));
    let [before, quiet] = [-1, 0];
    await eventually(() => {
      quiet = produced === before ? quiet + 1 : 0;
      before = produced;
      return quiet > 20;
    });
    expect(produced).toBeLessThan(bytes / 2);
    expect(connection.socket.writableLength).toBeGreaterThan(0); // unread bytes stay in our buffer
  });
});
