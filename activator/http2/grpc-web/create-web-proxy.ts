import type { Exchange } from "../../http1/front/exchange.ts";
import type { ProxyRequest } from "../../proxy-interface.ts";
import { GrpcProxy } from "../grpc/grpc-proxy.ts";
import type { GrpcProxyOptions } from "../proxy/create-http2-proxy.ts";
import type { WaitHost } from "../stream-wait.ts";
import { WebClient } from "./web-client.ts";
import { WebExchange } from "./web-exchange.ts";

/** Proxies calls of gRPC-Web that come over HTTP/1.1, on a connection that was established before. */
export function createWebProxy(options: GrpcProxyOptions & WaitHost): ProxyRequest<Exchange> {
  return (exchange, upstream, how) => {
    const { web } = exchange.head.grpc ?? {};
    if (!web) throw new Error("the request is no call of gRPC-Web");
    return new GrpcProxy(new WebClient(new WebExchange(exchange, options), web), upstream, how, options).run();
  };
}
