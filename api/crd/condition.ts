import { described, int64, object, oneOf, plainListOf, text, time } from "./shapes.ts";

// The shape of `metav1.Condition`; the patterns and lengths are the ones that Kubernetes documents for it.
const condition = object({
  "lastTransitionTime*": described("When the status last changed.", time),
  "message*": described("The same for people, in a sentence.", { ...text, maxLength: 32768 }),
  observedGeneration: described("The generation of the object that this was said about.", { ...int64, minimum: 0 }),
  "reason*": described("Why, in one word that programs may test.", {
    ...text,
    maxLength: 1024,
    minLength: 1,
    pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
  }),
  "status*": described("Whether it holds.", oneOf("True", "False", "Unknown")),
  "type*": described("What is said.", {
    ...text,
    maxLength: 316,
    pattern:
      "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
  }),
});

export const conditions = plainListOf(condition);
