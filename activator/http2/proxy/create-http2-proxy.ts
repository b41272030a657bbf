import type { Http1ProxyOptions } from "../../http1/proxy/create-http1-proxy.ts";
import type { ProxyRequest } from "../../proxy-request.ts";
import type { StreamExchange } from "../front/stream-exchange.ts";
import { StreamProxy } from "./stream-proxy.ts";

/** The connections to sandboxes and their limits are those of HTTP/1.1. */
export type Http2ProxyOptions = Http1ProxyOptions;

/** Proxies streams of HTTP/2 to sandboxes, over HTTP/1.1 on a connection that was established before. */
export function createHttp2Proxy(options: Http2ProxyOptions): ProxyRequest<StreamExchange> {
  return (exchange, upstream, how) => new StreamProxy(exchange, upstream, how, options).run();
}
