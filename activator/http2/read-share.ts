import { runGuarded } from "../../lib/guard/guard.ts";
import { turnFrames } from "./room/turn-frames.ts";
import { turn } from "./turn.ts";

/** After so many frames of one connection in one turn of the event loop, it is read no further in that turn. */
const framesInOneTurn = 256;
/** The same, in bytes of data: as much as a connection of HTTP/1.1 may bring. */
const bytesInOneTurn = 131_072;
/**
 * Connections that were stopped are read again in turn: in each turn of the event loop the first of them, and of the others as many as
 * brought no more frames than this together.
 */
const framesOfRested = 1_024;
/** So many turns later, the number of frames that a connection brought in a turn no longer says what it will bring. */
const recentTurns = 32;
/** A head costs as much as so many frames, and as one more for each so many bytes of its fields. */
const framesOfHead = 8;
const headBytesOfFrame = 1_024;
/** The shortest frame, in bytes. */
const frameBytesMin = 9;
/**
 * A connection is suspect once it has brought more than so many bytes in one step of the sweep in frames that Node does not report, such as
 * WINDOW_UPDATE, PRIORITY and frames of unknown types. After so many steps without that it no longer is.
 */
const unreportedBytesMax = 131_072;
const suspectSteps = 50;

/** The native part of a socket, whose reads go to a session of Node. */
interface ReadHandle {
  readStart(): unknown;
  readStop(): unknown;
  readonly writeQueueSize: number;
}

/** A socket that counts what was read of it. */
interface Readable {
  readonly bytesRead: number;
}

/** Undefined: another Node, or the socket is closed. */
function readHandle(socket: object): ReadHandle | undefined {
  const handle = "_handle" in socket ? socket._handle : undefined;
  return isReadHandle(handle) ? handle : undefined;
}

function isReadHandle(handle: unknown): handle is ReadHandle {
  if (typeof handle !== "object" || handle === null) return false;
  if (!("readStart" in handle && "readStop" in handle && "writeQueueSize" in handle)) return false;
  return typeof handle.readStart === "function" && typeof handle.readStop === "function";
}

/** The connections that were stopped, in the order in which they are read again. */
class RestedConnections {
  readonly #waiting = new Set<ReadShare>();
  #hasNext = false;

  add(share: ReadShare): void {
    this.#waiting.add(share);
    this.#callNext();
  }

  has(share: ReadShare): boolean {
    return this.#waiting.has(share);
  }

  remove(share: ReadShare): void {
    this.#waiting.delete(share);
  }

  #callNext(): void {
    if (this.#hasNext) return;
    this.#hasNext = true;
    turn.atEnd(() => this.#next());
  }

  #next(): void {
    this.#hasNext = false;
    if (!turnFrames.mayRead) return this.#callNext();
    const [first, ...others] = this.#waiting;
    let frames = 0;
    const now = others.filter((share) => {
      const fits = frames + share.frames <= framesOfRested;
      if (fits) frames += share.frames;
      return fits;
    });
    if (first) now.push(first);
    for (const share of now) {
      this.#waiting.delete(share);
      runGuarded("http-front", () => share.readOn());
    }
    if (this.#waiting.size > 0) this.#callNext();
  }
}

const rested = new RestedConnections();

/**
 * The share of one connection of HTTP/2 in the turns of the event loop. Node reads such a connection itself: up to 32 times 64 KiB in
 * one turn, and each frame of data costs the same, however short it is.
 *
 * A connection that has used its share is stopped, after the read that is in progress, and reads on when its turn comes. So the
 * connections with many short frames share one read for each turn, and all others are served between two such reads.
 */
export class ReadShare {
  readonly #socket: Readable;
  #turn = -1;
  #frames = 0;
  #bytes = 0;
  /** It has used its share of this turn. */
  #isOver = false;
  /** It was stopped, and nothing has begun to read it again, except perhaps Node. */
  #isStopped = false;
  /** It is not read until the streams begin that it has brought. */
  #isHeld = false;
  /** What was read of it at the last check, and when it was last read on. */
  #readAtCheck: number;
  #readAtStart = 0;
  /** Bytes of reported frames since the last check. */
  #reported = 0;
  /** For so many more steps, what it brings in a turn counts whatever the frames are. */
  #suspectFor = 0;

  constructor(socket: Readable) {
    this.#socket = socket;
    this.#readAtCheck = socket.bytesRead;
  }

  /** Node's session reads the socket from now on. */
  begin(): void {
    turnFrames.opened(this);
  }

  /** How many frames it brought in its last turn. */
  get frames(): number {
    return this.#frames;
  }

  /** A frame has arrived, with so many bytes of data. */
  counted(bytes: number): void {
    turnFrames.add(1);
    this.#add(1, bytes);
  }

  /** The fields of a request or a response have arrived, or trailers, with so many bytes, decoded. */
  head(bytes: number): void {
    const frames = framesOfHead + Math.floor(bytes / headBytesOfFrame);
    turnFrames.addHead(frames);
    this.#add(frames, bytes);
  }

  hold(): void {
    this.#isHeld = true;
    this.#stop();
  }

  release(): void {
    this.#isHeld = false;
    if (this.#isStopped) rested.add(this);
  }

  /** Called from time to time: Node reads no further by itself if it had not stopped, or has ended its session. */
  check(): void {
    this.#judgeUnreported();
    if (!rested.has(this)) this.readOn();
  }

  /** Its turn has come. Node itself stops reading while a write waits, and reads on after it: then nothing is begun here. */
  readOn(): void {
    if (this.#isHeld) return;
    const handle = this.#isStopped ? readHandle(this.#socket) : undefined;
    if (!handle || handle.writeQueueSize > 0) return;
    this.#isStopped = false;
    handle.readStart();
    if (this.#suspectFor === 0) return;
    this.#readAtStart = this.#socket.bytesRead;
    turn.atEnd(() => this.#stopSuspect());
  }

  /** Reads on although Node may have stopped, so that the end of the other side is seen. */
  readAnyway(): void {
    if (this.#isStopped || this.#isHeld) return; // it is read on in its turn
    const handle = readHandle(this.#socket);
    if (handle?.writeQueueSize === 0) handle.readStart();
  }

  /** All connections have used up this turn. Node itself has stopped reading if a write waits. */
  pause(): void {
    const handle = this.#isStopped ? undefined : readHandle(this.#socket);
    if (!handle || handle.writeQueueSize > 0) return;
    if (turn.number - this.#turn > recentTurns) this.#renew();
    this.#rest();
  }

  /** The connection is closed. */
  close(): void {
    turnFrames.closed(this);
    rested.remove(this);
  }

  #add(frames: number, bytes: number): void {
    this.#renew();
    this.#frames += frames;
    this.#bytes += bytes;
    this.#reported += frameBytesMin * frames + bytes;
    if (this.#isOver || (this.#frames < framesInOneTurn && this.#bytes < bytesInOneTurn)) return;
    this.#rest();
  }

  #renew(): void {
    const { number } = turn;
    if (number === this.#turn) return;
    this.#turn = number;
    this.#frames = 0;
    this.#bytes = 0;
    this.#isOver = false;
  }

  #rest(): void {
    if (!this.#stop()) return;
    this.#isOver = true;
    if (!this.#isHeld) rested.add(this);
  }

  #stop(): boolean {
    const handle = readHandle(this.#socket);
    if (!handle) return false;
    this.#isStopped = true;
    handle.readStop();
    return true;
  }

  #judgeUnreported(): void {
    const { bytesRead } = this.#socket;
    const unreported = bytesRead - this.#readAtCheck - this.#reported;
    this.#readAtCheck = bytesRead;
    this.#reported = 0;
    if (unreported > unreportedBytesMax) {
      this.#suspectFor = suspectSteps;
      this.#weigh(unreported);
    } else if (this.#suspectFor > 0 && !rested.has(this)) this.#suspectFor -= 1;
  }

  /** It was read for one turn. If that brought nothing, it is read again at the next check. */
  #stopSuspect(): void {
    if (this.#isStopped) return;
    const bytes = this.#socket.bytesRead - this.#readAtStart;
    if (bytes > 0) this.#weigh(bytes);
    else this.#stop();
  }

  #weigh(bytes: number): void {
    this.#renew();
    this.#frames += Math.floor(bytes / frameBytesMin);
    this.#rest();
  }
}
