/** How much one unit of a suffix is: `digits × 10^tens × 2^twos`. */
const suffixes: Readonly<Record<string, { readonly tens: number; readonly twos: number }>> = {
  n: { tens: -9, twos: 0 },
  u: { tens: -6, twos: 0 },
  m: { tens: -3, twos: 0 },
  "": { tens: 0, twos: 0 },
  k: { tens: 3, twos: 0 },
  M: { tens: 6, twos: 0 },
  G: { tens: 9, twos: 0 },
  T: { tens: 12, twos: 0 },
  P: { tens: 15, twos: 0 },
  E: { tens: 18, twos: 0 },
  Ki: { tens: 0, twos: 10 },
  Mi: { tens: 0, twos: 20 },
  Gi: { tens: 0, twos: 30 },
  Ti: { tens: 0, twos: 40 },
  Pi: { tens: 0, twos: 50 },
  Ei: { tens: 0, twos: 60 },
};

const pattern = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)$/;
// The cost grows with the number of digits; real quantities have a dozen. API servers set no limit.
const charactersMax = 128;
// Far below the smallest step (10^-9) of a fractional quantity.
const scale = 120;

/**
 * Whether two Kubernetes quantities are the same amount, however they are written. A text that is not a quantity, or
 * has more than 128 characters, equals only the identical text.
 */
export function sameQuantity(a: string | number, b: string | number): boolean {
  const left = exactQuantity(a);
  const right = exactQuantity(b);
  return left === undefined || right === undefined ? String(a) === String(b) : left === right;
}

/**
 * The amount of a Kubernetes quantity such as `500m`, `1.5Gi` or `2e3`, in units of 10^-120: as an integer, so that nothing is lost to
 * rounding. Undefined if it is malformed, or has more than 128 characters.
 */
export function exactQuantity(quantity: string | number): bigint | undefined {
  const text = String(quantity);
  const match = text.length <= charactersMax ? pattern.exec(text) : null;
  if (!match) return undefined;
  const [, sign, digits = "", exponent, suffix = ""] = match;
  const [whole = "", fraction = ""] = digits.split(".");
  const unit = exponent ? { tens: Number(exponent.slice(1)), twos: 0 } : suffixes[suffix];
  if (!unit) return undefined;
  const tens = scale + unit.tens - fraction.length;
  if (tens < 0) return undefined;
  const value = BigInt(whole + fraction) * 10n ** BigInt(tens) * 2n ** BigInt(unit.twos);
  return sign === "-" ? -value : value;
}
