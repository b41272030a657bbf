import * as grpc from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer, loadSync, type MethodDefinition } from "@grpc/proto-loader";
import { outcomeOf } from "./echo-service.ts";

type Fields = Readonly<Record<string, unknown>>;
type Method = Pick<MethodDefinition<object, object>, "path" | "requestSerialize" | "responseDeserialize">;

export interface Answered {
  readonly code: number;
  readonly messages: readonly Fields[];
}

/** The method by which a server tells of its services. */
const reflection = methodIn(
  loadSync(new URL("reflection.proto", import.meta.url).pathname),
  "grpc.reflection.v1.ServerReflection",
  "ServerReflectionInfo",
);

const health = methodIn(
  loadSync(new URL("health.proto", import.meta.url).pathname, { enums: String }),
  "grpc.health.v1.Health",
  "Check",
);

/** A client of gRPC that knows no service: it asks the server for its services and their messages, as grpcurl does. */
export class ReflectedClient implements Disposable {
  readonly #client: grpc.Client;

  constructor(target: string, authority: string) {
    this.#client = new grpc.Client(target, grpc.credentials.createInsecure(), {
      ...{ "grpc.default_authority": authority, "grpc.enable_retries": 0, "grpc.use_local_subchannel_pool": 1 },
    });
  }

  /** The names of the services. */
  async list(): Promise<readonly unknown[]> {
    const [answer] = (await this.#talk(reflection, [{ listServices: "" }])).messages;
    const { service = [] } = (answer?.listServicesResponse ?? {}) as { readonly service?: readonly { name: string }[] };
    return service.map(({ name }) => name);
  }

  /** Calls a method, with messages as the server describes them. */
  async call(service: string, name: string, messages: readonly Fields[]): Promise<Answered> {
    return this.#talk(methodIn(await this.#describe(service), service, name), messages);
  }

  /** Asks for the health of all services. The server need not describe that method. */
  check(): Promise<Answered> {
    return this.#talk(health, [{}]);
  }

  async #describe(symbol: string): Promise<ReturnType<typeof loadSync>> {
    const { code, messages } = await this.#talk(reflection, [{ fileContainingSymbol: symbol }]);
    const found = messages[0]?.fileDescriptorResponse as
      | { readonly fileDescriptorProto: readonly Buffer[] }
      | undefined;
    if (!found) throw new Error(`no description of ${symbol}: status ${code}`);
    const bytes = found.fileDescriptorProto.flatMap((file) => [Buffer.from([10]), lengthOf(file), file]);
    return loadFileDescriptorSetFromBuffer(Buffer.concat(bytes), { enums: String });
  }

  async #talk({ path, requestSerialize, responseDeserialize }: Method, messages: readonly Fields[]): Promise<Answered> {
    const call = this.#client.makeBidiStreamRequest<Buffer, Buffer>(path, same, same, new grpc.Metadata(), {
      deadline: Date.now() + 30_000,
    });
    const outcome = outcomeOf(call);
    for (const message of messages) call.write(requestSerialize(message));
    call.end();
    const { code, messages: answers } = await outcome;
    return { code, messages: answers.map((bytes) => ({ ...responseDeserialize(bytes) })) };
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

const same = (bytes: Buffer) => bytes;

function methodIn(definition: ReturnType<typeof loadSync>, service: string, name: string): Method {
  const methods = definition[service];
  const method = methods && !("format" in methods) ? methods[name] : undefined;
  if (!method) throw new Error(`${service} has no method ${name}`);
  return method;
}

/** A length as Protocol Buffers write it. */
function lengthOf({ length }: Buffer): Buffer {
  const bytes: number[] = [];
  let rest = length;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}
