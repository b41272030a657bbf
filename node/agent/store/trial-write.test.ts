import { expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { TrialWrite } from "./trial-write.ts";

/** A store whose files fail with this code, if any. */
function open(code?: string) {
  const files = {
    code,
    calls: 0,
    async tryWrite() {
      files.calls += 1;
      if (files.code !== undefined) throw Object.assign(new Error(files.code), { code: files.code });
    },
  };
  const clock = new FakeClock();
  return { files, clock, trial: new TrialWrite("/store", files, clock) };
}

it.each([
  [undefined, "Writable"],
  ["EROFS", "ReadOnly"],
  ["EIO", "ReadOnly"],
  ["ENOSPC", "Full"],
])("a trial that ends with %s says %s", async (code, result) => {
  expect(await open(code).trial.result()).toBe(result);
});

it("a trial counts for 5 s, unless it is to be made again", async () => {
  const { clock, files, trial } = open();
  await trial.result();
  files.code = "EROFS";
  await clock.advance(4_999);
  expect(await trial.result()).toBe("Writable");
  expect(files.calls).toBe(1);
  await clock.advance(1);
  expect(await trial.result()).toBe("ReadOnly");
  files.code = undefined;
  expect(await trial.again()).toBe("Writable");
  expect(await trial.result()).toBe("Writable");
  expect(files.calls).toBe(3);
});

it("a trial that fails for want of file descriptors says nothing, and is made again", async () => {
  const { files, trial } = open("EMFILE");
  await expect(trial.result()).rejects.toThrow("EMFILE");
  files.code = undefined;
  expect(await trial.result()).toBe("Writable");
});
