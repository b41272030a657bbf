import type { Clock } from "../../lib/time/clock.ts";
import { includeObjectOf, tableOf } from "../kinds/tables.ts";
import type { ServedKind } from "../served-kind.ts";
import type { WatchEncoding } from "../watch/watch-stream.ts";
import type { Page } from "./lists.ts";

/** A list as the table that `kubectl get` prints. */
export function tableJson(kind: ServedKind, { entries, metadata }: Page, now: Date, query: URLSearchParams): string {
  const objects = entries.map(({ object }) => object);
  return JSON.stringify(
    tableOf(kind, objects, { includeObject: includeObjectOf(query.get("includeObject")), now, metadata }),
  );
}

/** The form of objects in a watch of tables: a table of one row, with the age of now. */
export function tableEncoding(kind: ServedKind, clock: Clock, query: URLSearchParams): WatchEncoding {
  const includeObject = includeObjectOf(query.get("includeObject"));
  return {
    encode: ({ object }) => JSON.stringify(tableOf(kind, [object], { includeObject, now: clock.now() })),
  };
}
