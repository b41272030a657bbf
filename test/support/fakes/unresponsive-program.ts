import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { sandboxPort } from "../labs/activator-world.ts";
import type { Program } from "./tiny-kubelet.ts";

/** Serves HTTP on its own thread, which stops for good on a message. */
const source = `
const { createServer } = require("node:http");
const { parentPort, workerData: { ip, port } } = require("node:worker_threads");
const never = new Int32Array(new SharedArrayBuffer(4));
parentPort.on("message", () => {
  parentPort.postMessage("stopped");
  Atomics.wait(never, 0, 0);
});
createServer((_, response) => response.setHeader("Connection", "close").end("awake"))
  .listen({ host: ip, port, backlog: 1 }, () => parentPort.postMessage("listening"));
`;

/** A connection that takes longer than this counts as one whose SYN was dropped, in milliseconds. */
const droppedAfterMs = 500;

export interface UnresponsiveProgram {
  readonly program: Program;
  /** From now on its port drops every SYN: the program does not accept, and its listen queue is full. */
  stopResponding(): Promise<void>;
}

/** A program that serves, and later drops all connection attempts. */
export function unresponsiveProgram(): UnresponsiveProgram {
  const fill: Socket[] = [];
  let running: { readonly worker: Worker; readonly ip: string } | undefined;
  return {
    async program(ip) {
      const worker = new Worker(source, { eval: true, workerData: { ip, port: sandboxPort } });
      running = { worker, ip };
      await once(worker, "message");
      return {
        async [Symbol.asyncDispose]() {
          for (const socket of fill) socket.destroy();
          await worker.terminate();
        },
      };
    },
    async stopResponding() {
      if (!running) throw new Error("it does not run");
      running.worker.postMessage("stop");
      await once(running.worker, "message");
      for (let isFull = false; !isFull; ) {
        const socket = connect(sandboxPort, running.ip).on("error", () => {});
        fill.push(socket);
        const dropped = new Promise<true>((resolve) => setTimeout(resolve, droppedAfterMs, true));
        isFull = await Promise.race([once(socket, "connect").then(() => false), dropped]);
      }
    },
  };
}
