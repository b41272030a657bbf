/** What each kind of collection is iterated by. */
const iterators = [new Map().values(), new Set().values(), [].values()].map((each) => Object.getPrototypeOf(each));

/** How many members of maps, sets and arrays the work goes through one by one. */
export function iterationSteps(work: () => void): number {
  let steps = 0;
  const before = iterators.map(({ next }) => next);
  iterators.forEach((iterator, at) => {
    iterator.next = function (this: Iterator<unknown>) {
      steps += 1;
      return before[at].call(this);
    };
  });
  try {
    work();
  } finally {
    iterators.forEach((iterator, at) => {
      iterator.next = before[at];
    });
  }
  return steps;
}
