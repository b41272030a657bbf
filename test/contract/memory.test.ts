import { openMemoryApi } from "../support/memory-api.ts";
import { describeApiServerContract } from "./api-server-contract.ts";
import { type ContractApi, openNamespace } from "./contract-api.ts";
import { describeVersions } from "./versions.ts";

const open = async (): Promise<ContractApi> => {
  const memory = await openMemoryApi();
  const api = await openNamespace({ url: memory.url, headers: {}, client: memory.client, fetch });
  return { ...api, [Symbol.asyncDispose]: () => memory[Symbol.asyncDispose]() };
};

describeApiServerContract("the API server in memory", open);
describeVersions("the API server in memory", open);
