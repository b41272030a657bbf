import type { KubeObject, Status } from "../../api/kinds/meta.ts";
import type { KubeClient } from "../../kube/client/client.ts";

/** An API server under test, and an empty namespace for this test only. */
export interface ContractApi extends AsyncDisposable {
  readonly namespace: string;
  readonly client: KubeClient;
  /** Sends a request with exactly these headers and the credentials. */
  call(method: string, path: string, request?: CallRequest): Promise<Reply>;
  /** Opens a watch with a time limit. */
  watch(path: string, headers?: Readonly<Record<string, string>>): Promise<OpenWatch>;
}

export type OpenContractApi = () => Promise<ContractApi>;

export interface CallRequest {
  /** Strings and bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown;
  /** Default: JSON. null sends no content type. */
  readonly contentType?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A received object. Tests read the fields that they expect. */
export type AnyObject = KubeObject & Readonly<Record<string, unknown>>;

export interface Reply {
  readonly code: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as an object. */
  readonly object: AnyObject;
  /** The body as an error Status. */
  readonly status: Status;
  /** The body as a list. */
  readonly list: {
    readonly metadata: {
      readonly resourceVersion: string;
      readonly continue?: string;
      readonly remainingItemCount?: number;
    };
    readonly items: readonly AnyObject[];
  };
}

export interface AnyEvent {
  readonly type: string;
  readonly object: AnyObject;
}

export interface OpenWatch extends Disposable {
  readonly code: number;
  /** The next event; undefined if the server has ended the watch. */
  next(): Promise<AnyEvent | undefined>;
}

// No response takes nearly that long. A waiting test should fail before the test runner's limit.
const patienceMs = 30_000;

export interface ServerUnderTest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly client: KubeClient;
  /** The global `fetch`, or one that trusts the server's certificate. */
  readonly fetch: typeof fetch;
}

/** Creates a namespace on a server. Disposing deletes the namespace, not the server. */
export async function openNamespace(server: ServerUnderTest): Promise<ContractApi> {
  const call = async (method: string, path: string, request: CallRequest = {}): Promise<Reply> => {
    const { body, contentType = "application/json", headers } = request;
    const response = await server.fetch(`${server.url}${path}`, {
      method,
      headers: {
        ...server.headers,
        ...(contentType && body !== undefined && { "content-type": contentType }),
        ...headers,
      },
      ...(body !== undefined && { body: bodyOf(body) }),
      signal: AbortSignal.timeout(patienceMs),
    });
    const text = await response.text();
    const parsed = () => JSON.parse(text);
    return {
      code: response.status,
      headers: response.headers,
      text,
      get object() {
        return parsed();
      },
      get status() {
        return parsed();
      },
      get list() {
        return parsed();
      },
    };
  };
  const made = await call("POST", "/api/v1/namespaces", { body: { metadata: { generateName: "contract-" } } });
  if (made.code !== 201) throw new Error(`cannot make a namespace: ${made.text}`);
  const namespace = made.object.metadata.name ?? "";
  return {
    namespace,
    client: server.client,
    call,
    watch: (path, headers) => openWatch(server, path, headers),
    async [Symbol.asyncDispose]() {
      await call("DELETE", `/api/v1/namespaces/${namespace}`);
    },
  };
}

async function openWatch(
  server: ServerUnderTest,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<OpenWatch> {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(patienceMs)]);
  const response = await server.fetch(`${server.url}${path}`, { headers: { ...server.headers, ...headers }, signal });
  const lines = linesOf(response);
  return {
    code: response.status,
    async next() {
      const { value, done } = await lines.next();
      return done ? undefined : (JSON.parse(value) as AnyEvent);
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}

async function* linesOf(response: Response): AsyncGenerator<string, void> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}

// A Blob without a type is the only body to which fetch adds no content type.
function bodyOf(body: unknown): Blob {
  const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  return new Blob([typeof bytes === "string" ? bytes : new Uint8Array(bytes)]);
}
