import type { Socket } from "node:net";
import { rawPort } from "../sleep/raw-workload.ts";
import type { Ledger } from "./ledger.ts";
import { readAtPace, reset } from "./link.ts";
import { followTalk, PlannedServer } from "./sandbox-http.ts";
import { speechOf } from "./talk/speech.ts";
import { Talker } from "./talk/talker.ts";

/** The first line of a client on a port without HTTP: the id of the conversation. */
export const greetingOf = (id: number): Buffer => Buffer.from(`${String(id).padStart(greetingBytes - 1)}\n`);
const greetingBytes = 12;

/** The server of a sandbox on a port without HTTP, which serves each connection by its plan. */
export class PlannedTcpServer extends PlannedServer {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    super(rawPort);
    this.#ledger = ledger;
  }

  protected override serve(socket: Socket): void {
    let greeting = Buffer.alloc(0);
    let talker: Talker | undefined;
    socket.on("end", () => (talker ? talker.ended() : socket.end()));
    socket.on("data", (bytes: Buffer) => {
      if (talker) return talker.feed(bytes);
      greeting = Buffer.concat([greeting, bytes]);
      if (greeting.length < greetingBytes) return;
      talker = this.#begin(socket, greeting);
      if (talker && greeting.length > greetingBytes) talker.feed(greeting.subarray(greetingBytes));
    });
  }

  #begin(socket: Socket, greeting: Buffer): Talker | undefined {
    const id = Number(greeting.toString("latin1", 0, greetingBytes));
    const plan = this.#ledger.planOf(id);
    if (plan?.kind !== "talk") {
      // The session of the client has already been judged.
      if (!Number.isInteger(id))
        this.#ledger.unexpected.push(`a greeting ${JSON.stringify(greeting.toString("latin1", 0, 40))}`);
      socket.destroy();
      return undefined;
    }
    const account = this.#ledger.accountOf(id);
    account.times += 1;
    const { pod, client } = plan;
    const heard = { hears: account.up, toHear: client.bytes };
    const cut = () => reset(socket);
    const talker = new Talker(socket, { plan: pod, speech: speechOf(plan, "pod"), sent: 0, ...heard, cut });
    followTalk(talker, account, socket);
    readAtPace(socket, pod.reading);
    talker.start();
    return talker;
  }
}
