import { once } from "node:events";
import { connect, Socket } from "node:net";
import { queryObjects } from "node:v8";
import { expect, it } from "vitest";
import { openTcpWorld, tcpProgram } from "../../test/support/labs/tcp-front-lab.ts";
import { openSockets } from "../socket/open-sockets.ts";

/** Sockets that anything still refers to, open or closed. */
const kept = () => queryObjects(Socket, { format: "count" });

async function visit(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  socket.resume().on("end", () => socket.end());
  await once(socket, "close");
}

it("keeps no memory of two thousand relayed connections once they are closed", { timeout: 120_000 }, async () => {
  await using world = await openTcpWorld();
  await world.awake(
    "nova",
    tcpProgram((socket) => socket.end("all I have to say")),
  );
  const port = await world.front("nova");
  await visit(port);
  const before = { open: openSockets(), kept: kept() };
  for (let done = 0; done < 2_000; done += 20) await Promise.all(Array.from({ length: 20 }, () => visit(port)));
  await expect.poll(openSockets).toBeLessThanOrEqual(before.open);
  await expect.poll(kept).toBeLessThan(before.kept + 100);
});
