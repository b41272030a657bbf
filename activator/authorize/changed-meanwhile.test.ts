import { expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { interceptCalls } from "../../test/support/fakes/intercepted-client.ts";
import { httpProgram, openActivatorWorld, rawConnection } from "../../test/support/labs/activator-world.ts";
import type { MemoryApi } from "../../test/support/memory-api.ts";

it("what a request names is read again after its client was authorized", async () => {
  const decided = Promise.withResolvers<void>();
  const asked = new Set<unknown>();
  const reviewing = ({ client }: MemoryApi) =>
    interceptCalls(client, async ({ kind, body }, proceed) => {
      const { spec } = (body ?? {}) as { spec?: { token?: string; user?: string } };
      if (kind === "TokenReview") return { status: { authenticated: true, user: { username: spec?.token } } };
      if (kind !== "SubjectAccessReview") return proceed();
      asked.add(spec?.user);
      if (spec?.user === "slow") await decided.promise;
      return { status: { allowed: true } };
    });
  const flags = ["--authz-mode=tokenreview", "--authz-access-review"];
  await using world = await openActivatorWorld(flags, {}, { clientOf: reviewing });
  const ask = async (token: string, port: number) => {
    using connection = await rawConnection(world.activator);
    const fields = [
      "Host: nova.default.sandbox.localhost",
      `Authorization: Bearer ${token}`,
      `X-Sandbox-Port: ${port}`,
    ];
    connection.send(["GET / HTTP/1.1", ...fields, "Connection: close", "", ""].join("\r\n"));
    const answer = await connection.closed();
    return /x-rouse-reason: (\w+)/i.exec(answer)?.[1] ?? answer.slice(9, 12);
  };
  const early = ask("slow", 9_999);
  await eventually(() => asked.has("slow"));
  await world.awake(
    "nova",
    httpProgram((_, response) => response.end("here")),
  );
  await eventually(async () => (await ask("quick", 8_888)) === "200");
  decided.resolve();
  expect(await early).toBe("ConflictingHeaders");
  expect(await ask("quick", 9_999)).toBe("ConflictingHeaders");
});
