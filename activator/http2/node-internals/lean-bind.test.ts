import { AsyncLocalStorage, AsyncResource, executionAsyncId } from "node:async_hooks";
import { expect, it } from "vitest";
import { bindOfNode, useLeanBind } from "./lean-bind.ts";

it("a function that is bound to a resource runs as one that Node binds, without the deprecated property", () => {
  const storage = new AsyncLocalStorage<string>();
  const seen = ["of Node", "lean"].map((kind) => {
    if (kind === "lean") useLeanBind();
    else AsyncResource.prototype.bind = bindOfNode;
    const resource = storage.run("inner", () => new AsyncResource("test"));
    const owner = {
      name: "owner",
      method: resource.bind(function (this: { name: string } | undefined, ...args: unknown[]) {
        if (args[0] === "throw") throw new Error("thrown");
        return {
          args,
          store: storage.getStore(),
          self: this?.name,
          isInside: executionAsyncId() === resource.asyncId(),
        };
      }),
    };
    expect(() => owner.method("throw")).toThrow("thrown");
    expect(executionAsyncId()).not.toBe(resource.asyncId());
    const alone = Reflect.apply(owner.method, undefined, []);
    return { called: owner.method(1, "two"), alone, has: "asyncResource" in owner.method };
  });
  const called = { args: [1, "two"], store: "inner", self: "owner", isInside: true };
  const alone = { args: [], store: "inner", self: undefined, isInside: true };
  expect(seen).toEqual([
    { called, alone, has: true },
    { called, alone, has: false },
  ]);
});
