import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { trailer } from "./raw-workload.ts";

/** What a client says to a raw port of a sandbox, one text after the other; then it ends its side, and listens. */
export interface Conversation {
  readonly host: string;
  readonly port: number;
  readonly id: string;
  readonly texts: readonly { readonly text: string; readonly pauseMs: number }[];
}

export interface Heard {
  /**
   * `whole`: everything was echoed, in order, up to the last words of the workload; `refused`: nobody listened;
   * `cut`: it ended earlier; `wrong`: what came is not what was said; `silent`: it did not end in the time that a client has.
   */
  readonly how: "whole" | "refused" | "cut" | "wrong" | "silent";
  /** Who answered, of a whole one. */
  readonly podUid: string | undefined;
  /** How much came, and how much was to come without the last words. */
  readonly bytes: number;
  readonly saidBytes: number;
  /**
   * The longest time in milliseconds in which, for all that the client knows, nothing moved: from when it said something that
   * came back until the next thing had come back, or until the end.
   */
  readonly quietMs: number;
}

/** Longer than anything is held. */
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
  // A reset may come before the connection is heard of: that is no refusal by the system.
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
  // Whoever ends the connection has said all that there will be; one that was held so long has not been heard of at all.
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
