import type { Carry } from "../../carry/carry.ts";
import type { Exchange } from "../front/exchange.ts";
import { Carriage, type CarrierOptions } from "./carriage.ts";

/** Carries HTTP/1.1 on a connection that exists before anything is sent. */
export function createHttp1Carrier(options: CarrierOptions): Carry<Exchange> {
  return (exchange, upstream, how) => new Carriage(exchange, upstream, how, options).run();
}
