// The known differences between the API in memory and kube-apiserver, and the reasons.
const differences: readonly { readonly title: RegExp; readonly why: string }[] = [
  {
    title: / = -?9223372036854775807$| = -9223372036854775809$/,
    why: "JavaScript rounds both limits of an int64, so it cannot distinguish them from their neighbours",
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
