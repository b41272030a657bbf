import type { StatusCause } from "../../../api/kinds/meta.ts";
import { invalid } from "../schema/causes.ts";

export function checkPortNumber(port: number, field: string): readonly StatusCause[] {
  return port >= 1 && port <= 65_535 ? [] : [invalid(field, port, "must be between 1 and 65535, inclusive")];
}
