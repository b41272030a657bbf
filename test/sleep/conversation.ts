import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { trailer } from "./raw-workload.ts";

/** The texts that a client sends to a raw port of a sandbox. After the last one it closes its side, and reads. */
export interface Conversation {
  readonly host: string;
  readonly port: number;
  readonly id: string;
  readonly texts: readonly { readonly text: string; readonly pauseMs: number }[];
}

export interface Heard {
  /**
   * `whole`: everything was echoed in order, with the trailer of the workload; `refused`: the port is closed;
   * `cut`: the connection ended earlier; `wrong`: other data came back; `silent`: it did not end within the time limit.
   */
  readonly how: "whole" | "refused" | "cut" | "wrong" | "silent";
  /** The Pod that answered, if `how` is `whole`. */
  readonly podUid: string | undefined;
  /** The received bytes, and the sent bytes, which is what should come without the trailer. */
  readonly bytes: number;
  readonly saidBytes: number;
  /**
   * The longest time without progress as the client sees it, in milliseconds: from the sending of a text that was echoed until
   * the next echo, or until the end.
   */
  readonly quietMs: number;
}

/** Longer than any hold. */
const patienceMs = 150_000;

/** Has one conversation, on a connection of its own. */
export async function converse({ host, port, id, texts }: Conversation): Promise<Heard> {
  const socket = connect({ host, port, allowHalfOpen: true });
  const echoes: { readonly untilByte: number; readonly saidMs: number }[] = [];
  let movedMs = performance.now();
  let quietMs = 0;
  const nothingMovedUntil = (nowMs: number) => {
    quietMs = Math.max(quietMs, nowMs - movedMs);
  };
  let [said, heard] = ["", ""];
  let isRefused = false;
  let isSilent = false;
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const timer = setTimeout(() => {
    isSilent = true;
    socket.destroy();
  }, patienceMs);
  // Only this code means a closed port; a reset may also come before the connection is reported.
  socket.on("error", (error: NodeJS.ErrnoException) => {
    isRefused = error.code === "ECONNREFUSED";
  });
  socket.setEncoding("latin1").on("data", (text: string) => {
    heard += text;
    for (let [next] = echoes; next && next.untilByte <= heard.length; [next] = echoes) {
      nothingMovedUntil(performance.now());
      movedMs = next.saidMs;
      echoes.shift();
    }
  });
  // After the end of the other side no more data comes.
  socket.once("end", () => socket.end());
  socket.write(`${id}\n`);
  for (const { text, pauseMs } of texts) {
    if (!socket.writable) break;
    said += text;
    echoes.push({ untilByte: said.length, saidMs: performance.now() });
    socket.write(text, "latin1");
    await Promise.race([delay(pauseMs), closed]);
  }
  socket.end();
  await closed;
  clearTimeout(timer);
  nothingMovedUntil(performance.now());
  const seen = { bytes: heard.length, saidBytes: said.length, quietMs };
  const rest = heard.slice(said.length);
  const podUid = /^\n(\S+) \d+\n$/.exec(rest)?.[1];
  if (podUid !== undefined && heard === said + trailer(podUid, said.length)) return { how: "whole", podUid, ...seen };
  const isPart = said.startsWith(heard.slice(0, said.length));
  const how = isSilent ? "silent" : isRefused ? "refused" : isPart ? "cut" : "wrong";
  return { how, podUid: undefined, ...seen };
}
