import { RequestWriter } from "../pod-connections/request-writer.ts";
import type { Kept, ReadPlace } from "../socket/read-place.ts";
import type { BodySink } from "./front/request-body.ts";

/** Forwards one request of HTTP/1.1 to the sandbox: its head, and its body as it arrives, in the client's framing. */
export class RequestRelay extends RequestWriter implements BodySink {
  bodyBytes(place: ReadPlace, bytes: Buffer, from: number, to: number): void {
    if (this.isOver || !this.isWithinLimit()) return;
    this.bytes(place, bytes, from, to);
    this.flush();
  }

  keptBytes(kept: Kept): void {
    if (this.isWithinLimit()) this.kept(kept);
  }

  bodyEnded(last: string): void {
    if (this.isOver) return;
    if (last !== "") {
      this.text(last);
      this.flush();
    }
    this.owner.requestWritten();
  }
}
