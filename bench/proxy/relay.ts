// A process of its own: connects to the back-end for each client, and forwards the bytes without parsing them.
import { createServer } from "node:net";
import { BufferLoans, ReadPlace } from "../../activator/socket/read-place.ts";
import { RelaySide } from "../../activator/socket/relay.ts";
import { adoptAccepted, newSocket } from "../../activator/socket/wire-socket.ts";
import { ports } from "./ports.ts";

const loans = new BufferLoans(512);
const server = createServer({ noDelay: true, allowHalfOpen: true, pauseOnConnect: true }, (accepted) => {
  const upstream = newSocket();
  upstream.connect(ports.files, "127.0.0.1");
  const client = adoptAccepted(accepted, (socket) => new RelaySide(socket, upstream, new ReadPlace(loans, socket)));
  upstream.reader = new RelaySide(upstream, client, new ReadPlace(loans, upstream));
  upstream.readOn();
});
server.listen({ port: Number(process.argv[2] ?? ports.proxy), host: "127.0.0.1", backlog: 4_096 });
