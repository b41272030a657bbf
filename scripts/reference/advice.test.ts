import { expect, it } from "vitest";
import { adviceOn } from "./advice.ts";

it("a code without a text stops the generation with the name of the code and of the file", () => {
  const text = { why: "It rains.", what: "Wait." };
  expect(adviceOn("Rain", { Rain: text }, "error-advice.ts")).toBe(text);
  expect(() => adviceOn("Snow", { Rain: text }, "error-advice.ts")).toThrow(
    "scripts/reference/error-advice.ts has no text about Snow: add its why and what",
  );
});
