import { once } from "node:events";
import { createServer, type ServerHttp2Session, type ServerHttp2Stream, type Settings } from "node:http2";
import type { AddressInfo } from "node:net";

/** A sandbox that speaks HTTP/2 in clear text, and does with each stream what a test wants. */
export async function startHttp2Sandbox(
  answer: (stream: ServerHttp2Stream) => void,
  onSession: (session: ServerHttp2Session) => void = () => {},
  settings: Settings = {},
): Promise<{ readonly port: number } & AsyncDisposable> {
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer({ settings });
  server.on("session", (session) => {
    sessions.add(session.on("error", () => {}));
    session.once("close", () => sessions.delete(session));
    onSession(session);
  });
  server.on("stream", (stream) => answer(stream.on("error", () => {})));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
