/** Keeps the process from ending until disposed of: the clock's timers let it end, however much is still to do. */
export function stayAlive(): Disposable {
  const { port1 } = new MessageChannel();
  port1.ref();
  return { [Symbol.dispose]: () => port1.close() };
}
