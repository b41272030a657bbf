import type { StatusCause } from "../../../../api/meta.ts";

/** Adds what is wrong with a value at a path to `causes`. */
export type Validate = (value: unknown, path: string, causes: StatusCause[]) => void;
