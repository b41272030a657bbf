import { openMemoryApi } from "../support/memory-api.ts";
import { describeApiServerContract } from "./api-server-contract.ts";
import { openNamespace } from "./contract-api.ts";

describeApiServerContract("the API server in memory", async () => {
  const memory = await openMemoryApi();
  const api = await openNamespace({ url: memory.url, headers: {}, client: memory.client, fetch });
  return { ...api, [Symbol.asyncDispose]: () => memory[Symbol.asyncDispose]() };
});
