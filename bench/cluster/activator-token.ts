import { secretType } from "../../api/kinds/core.ts";
import { release } from "../../cluster/release/install-chart.ts";
import type { World } from "./world.ts";

/** The token that the installed activators ask for. */
export async function activatorToken({ client }: Pick<World, "client">): Promise<string> {
  const secret = await client.get(secretType, { namespace: release.namespace, name: "sandbox-router-token" });
  return Buffer.from(secret.data?.["token"] ?? "", "base64").toString();
}
