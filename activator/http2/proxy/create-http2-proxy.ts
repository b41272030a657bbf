import type { Http1ProxyOptions } from "../../http1/proxy/create-http1-proxy.ts";
import type { ProxyRequest } from "../../proxy-interface.ts";
import type { StreamExchange } from "../front/stream-exchange.ts";
import { GrpcProxy } from "../grpc/grpc-proxy.ts";
import type { PodSessions } from "../grpc/pod-sessions.ts";
import { StreamClient } from "../grpc/stream-client.ts";
import { WebClient } from "../grpc-web/web-client.ts";
import { WebStream } from "../grpc-web/web-stream.ts";
import { StreamProxy } from "./stream-proxy.ts";

/** The connections to sandboxes and their limits are those of HTTP/1.1. */
export interface Http2ProxyOptions extends Http1ProxyOptions {
  /** For calls of gRPC. */
  readonly sessions: PodSessions;
}

/** `streamIdleMs` limits the time in which nothing moves, and `totalMs` a call from its dispatch. */
export type GrpcProxyOptions = Pick<
  Http2ProxyOptions,
  "clock" | "sweep" | "maxRequestBodyBytes" | "sessions" | "streamIdleMs" | "totalMs"
>;

/** Proxies streams of HTTP/2 to sandboxes, on a connection that was established before: gRPC over HTTP/2, all else over HTTP/1.1. */
export function createHttp2Proxy(options: Http2ProxyOptions): ProxyRequest<StreamExchange> {
  return (exchange, upstream, how) => {
    const { grpc } = exchange.head;
    if (!grpc) return new StreamProxy(exchange, upstream, how, options).run();
    const client = grpc.web ? new WebClient(new WebStream(exchange), grpc.web) : new StreamClient(exchange);
    return new GrpcProxy(client, upstream, how, options).run();
  };
}
