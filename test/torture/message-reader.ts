export interface Head {
  /** The first line. */
  readonly start: string;
  /** By lower-case name. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Called with the parts of a message as they arrive. */
export interface MessageParts {
  /** Returns what follows the head: a body by the head, nothing (as after HEAD), another head, or bytes of another protocol. */
  head(head: Head): "body" | "nothing" | "head" | "raw";
  body(bytes: Buffer): void;
  end(): void;
  raw(bytes: Buffer): void;
}

type State = "head" | "length" | "chunkSize" | "chunk" | "chunkEnd" | "trailers" | "close" | "raw" | "broken";

const newline = 10;

/** Parses HTTP/1 messages without any code of the product, so that it can find faults in the product's parser. */
export class MessageReader {
  readonly #parts: MessageParts;
  readonly #untilClose: boolean;
  #state: State = "head";
  #line = "";
  #lines: string[] = [];
  #left = 0;
  /** Received data that is not HTTP. */
  broken: string | undefined;

  constructor(side: "request" | "response", parts: MessageParts) {
    this.#parts = parts;
    this.#untilClose = side === "response";
  }

  /** Whether no byte has arrived since the last complete message. */
  get idle(): boolean {
    return this.#state === "head" && this.#line === "" && this.#lines.length === 0;
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      switch (this.#state) {
        case "length":
        case "chunk":
          at = this.#pushCounted(bytes, at);
          break;
        case "close":
          this.#parts.body(bytes.subarray(at));
          return;
        case "raw":
          this.#parts.raw(bytes.subarray(at));
          return;
        case "broken":
          return;
        default:
          at = this.#pushLine(bytes, at);
      }
    }
  }

  /** Call it when the other side has closed, which may be the end of a body. */
  finish(): void {
    if (this.#state === "close") this.#endMessage();
  }

  #pushCounted(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#parts.body(bytes.subarray(at, end));
    if (this.#left > 0) return end;
    if (this.#state === "chunk") this.#state = "chunkEnd";
    else this.#endMessage();
    return end;
  }

  #pushLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(newline, at);
    if (end < 0) {
      this.#line += bytes.toString("latin1", at);
      return bytes.length;
    }
    const line = this.#line + bytes.toString("latin1", at, end);
    this.#line = "";
    if (line.endsWith("\r")) this.#endLine(line.slice(0, -1));
    else this.#break(`a line without CR: ${line}`);
    return end + 1;
  }

  #endLine(line: string): void {
    switch (this.#state) {
      case "head":
        if (line !== "") this.#lines.push(line);
        else this.#endHead();
        return;
      case "chunkSize":
        if (!/^[0-9a-f]+$/i.test(line)) return this.#break(`a chunk of size ${JSON.stringify(line.slice(0, 40))}`);
        this.#left = Number.parseInt(line, 16);
        this.#state = this.#left === 0 ? "trailers" : "chunk";
        return;
      case "chunkEnd":
        if (line === "") this.#state = "chunkSize";
        else this.#break("a chunk that is longer than it says");
        return;
      default:
        if (line === "") this.#endMessage();
    }
  }

  #endHead(): void {
    const [start = "", ...lines] = this.#lines;
    this.#lines = [];
    const fields = new Map(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    if (!/HTTP\/1\.[01]/.test(start)) return this.#break(`a first line ${JSON.stringify(start.slice(0, 60))}`);
    const follows = this.#parts.head({ start, fields });
    if (follows === "head") return;
    if (follows === "raw") this.#state = "raw";
    else if (follows === "nothing") this.#endMessage();
    else this.#beginBody(fields);
  }

  #beginBody(fields: ReadonlyMap<string, string>): void {
    const length = fields.get("content-length");
    this.#left = Number(length ?? 0);
    if (fields.get("transfer-encoding") === "chunked") this.#state = "chunkSize";
    else if (length === undefined && this.#untilClose) this.#state = "close";
    else if (this.#left === 0) this.#endMessage();
    else this.#state = "length";
  }

  #endMessage(): void {
    this.#state = "head";
    this.#parts.end();
  }

  #break(why: string): void {
    this.#state = "broken";
    this.broken = why;
  }
}
