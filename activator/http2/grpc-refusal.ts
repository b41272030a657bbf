import { headerValue, type RequestHead, type Synthetic } from "../request.ts";

/** Whether it is a call of gRPC (gRPC over HTTP/2, "Requests"). gRPC-Web has a content type of its own. */
export function isGrpc({ headers }: RequestHead): boolean {
  return /^application\/grpc(?:[+;]|$)/i.test(headerValue(headers, "content-type") ?? "");
}

/** Status 12, UNIMPLEMENTED: gRPC needs trailers and streams that sandboxes get over HTTP/1.1 only. Its clients read no status of HTTP. */
export const unsupportedGrpc: Synthetic = {
  status: 200,
  headers: [
    ["Content-Type", "application/grpc"],
    ["Grpc-Status", "12"],
    ["Grpc-Message", "This activator does not proxy gRPC."],
  ],
  body: "",
};
