import type { TcpFrontPort } from "../../../api/between-programs/tcp-front.ts";

/** Ports given in writes that the slices do not show yet. */
export class Reservations {
  readonly #portsOf = new Map<string, readonly TcpFrontPort[]>();
  readonly #ownerOf = new Map<number, string>();

  set(key: string, ports: readonly TcpFrontPort[]): void {
    this.#portsOf.set(key, ports);
    for (const { activatorPort } of ports) this.#ownerOf.set(activatorPort, key);
  }

  end(key: string): void {
    for (const { activatorPort } of this.of(key)) this.#ownerOf.delete(activatorPort);
    this.#portsOf.delete(key);
  }

  of(key: string): readonly TcpFrontPort[] {
    return this.#portsOf.get(key) ?? [];
  }

  /** The key of the slice that a port is reserved for. */
  ownerOf(port: number): string | undefined {
    return this.#ownerOf.get(port);
  }
}
