/**
 * The value of a key from user input; undefined if the object itself does not have the key. A plain read would find
 * inherited properties, such as `constructor` and `toString`.
 */
export function ownField<V>(object: Readonly<Record<string, V>> | undefined, key: string): V | undefined {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a key from user input in an object under construction; `__proto__` is an ordinary key here. */
export function setField(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
