// Where the API in memory is known to differ from kube-apiserver, and why it stays so.
const differences: readonly { readonly title: RegExp; readonly why: string }[] = [
  {
    title: / = -?9223372036854775807$| = -9223372036854775809$/,
    why: "JavaScript reads both borders of an int64 as the number beyond or within: they cannot be told apart",
  },
  {
    title: /\.replicas = (1\.0|1e2|1\.5e1|1e-1|-0)$/,
    why: "the scale subresource refuses a whole number that is written as a fraction, and JSON.parse does not keep how it was written",
  },
  {
    title: /(v1alpha1 Sandbox|SandboxWarmPool) status = /,
    why: "where the whole status is no object, the scale subresource finds fault with each of its fields as well",
  },
];

export const isKnownDifference = (title: string): boolean => differences.some((one) => one.title.test(title));
