import { hostOf, hostsMax, ports } from "./ports.ts";

/** nginx as a back-end; `files` holds `64k` and `1m`. */
export const nginxBackend = (directory: string): string => `
worker_processes 1;
pid ${directory}/backend.pid;
error_log ${directory}/backend-error.log crit;
events { worker_connections 8192; }
http {
  access_log off;
  keepalive_requests 100000000;
  sendfile on;
  tcp_nodelay on;
  open_file_cache max=16;
  server {
    listen 127.0.0.1:${ports.files} backlog=4096;
    root ${directory};
    location = / { default_type text/plain; return 200 "hello, world!\\n"; }
  }
}
`;

/**
 * nginx as a proxy: one worker, an access log that is written in blocks, and more idle connections than any row needs: to the
 * default host for 256 clients, to each of the thousand for 64. An idle connection is never closed for its number of requests.
 * A response of a megabyte fits in the buffers: with the defaults it goes through a file, and costs 2.5 times as much.
 */
export function nginxProxy(directory: string): string {
  const hosts = Array.from({ length: hostsMax }, (_, n) => n);
  const upstream = (name: string, port: number, keepalive: number) =>
    `upstream ${name} { server 127.0.0.1:${port}; keepalive ${keepalive}; keepalive_requests 100000000; }`;
  const upstreams = hosts.map((n) => upstream(`h${n}`, ports.files, n === 0 ? 1_024 : 64)).join("\n  ");
  const names = hosts.map((n) => `${hostOf(ports.files, n)} h${n};`).join("\n    ");
  return `
worker_processes 1;
pid ${directory}/proxy.pid;
error_log ${directory}/proxy-error.log crit;
events { worker_connections 8192; }
http {
  access_log ${directory}/proxy-access.log combined buffer=64k flush=1s;
  keepalive_requests 100000000;
  tcp_nodelay on;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host $host;
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_set_header X-Forwarded-Host $host;
  proxy_set_header X-Forwarded-Proto http;
  proxy_request_buffering off;
  proxy_buffers 32 64k;
  proxy_busy_buffers_size 256k;
  proxy_max_temp_file_size 0;
  client_max_body_size 0;
  map_hash_max_size 4096;
  map_hash_bucket_size 128;
  ${upstreams}
  ${upstream("streams", ports.streams, 1_024)}
  ${upstream("calls", ports.calls, 1_024)}
  map $host $named {
    default h0;
    ${names}
  }
  server {
    listen 127.0.0.1:${ports.proxy} backlog=4096;
    listen 127.0.0.1:${ports.proxyHttp2} http2 backlog=4096;
    listen 127.0.0.1:${ports.proxyTls} ssl http2 backlog=4096;
    ssl_certificate ${directory}/tls.crt;
    ssl_certificate_key ${directory}/tls.key;
    location / { proxy_pass http://$named; }
    location /up { proxy_pass http://streams; }
    location /chunked { proxy_pass http://streams; }
    location /bench.Calls/ { grpc_pass grpc://calls; }
    location /ws {
      proxy_pass http://streams;
      proxy_set_header Connection "Upgrade";
      proxy_set_header Upgrade $http_upgrade;
    }
  }
}
`;
}

/**
 * haproxy: one thread, reused connections without a limit, an access log on standard output. With strict limits it would require
 * descriptors for a back-end connection of each client, which it never opens here.
 */
export function haproxy(directory: string): string {
  const hosts = Array.from({ length: hostsMax }, (_, n) => n);
  const backends = hosts.map((n) => `backend h${n}\n  server s 127.0.0.1:${ports.files}`).join("\n");
  return `
global
  nbthread 1
  maxconn 15000
  no strict-limits
  log stdout format raw local0
  stats timeout 1s
defaults
  mode http
  log global
  option httplog
  option forwardfor
  http-reuse always
  timeout client 60s
  timeout server 60s
  timeout connect 5s
  timeout queue 60s
  timeout tunnel 1h
frontend proxy
  bind 127.0.0.1:${ports.proxy}
  bind 127.0.0.1:${ports.proxyHttp2} proto h2
  bind 127.0.0.1:${ports.proxyTls} ssl crt ${directory}/tls.pem alpn h2
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Forwarded-Proto http
  use_backend streams if { path_beg /up /chunked /ws }
  use_backend calls if { path_beg /bench.Calls/ }
  use_backend held if { path_beg /held }
  use_backend %[req.hdr(host),field(3,-),field(1,.),regsub(^s,h)] if { req.hdr(host) -m beg ${ports.files}-- }
  default_backend h0
backend held
  server s 127.0.0.1:${ports.held} maxconn 256
backend calls
  server s 127.0.0.1:${ports.calls} proto h2
backend streams
  server s 127.0.0.1:${ports.streams}
${backends}
`;
}
