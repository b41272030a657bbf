const portMax = 65_535;

/**
 * Whether this is a valid TCP or UDP port: an integer from 1 to 65,535. The schemas of Sandboxes and templates accept
 * any int32 as a `containerPort`, and Node throws for a port outside of the range.
 */
export const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) <= portMax;
