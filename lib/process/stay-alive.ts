/** Keeps the process alive until disposed: the clock's timers do not, whatever work is pending. */
export function stayAlive(): Disposable {
  const { port1 } = new MessageChannel();
  port1.ref();
  return { [Symbol.dispose]: () => port1.close() };
}
