import type { StatusCause } from "../../../api/kinds/meta.ts";

/** Appends the faults of a value at a path to `causes`. */
export type Validate = (value: unknown, path: string, causes: StatusCause[]) => void;
