import type { KubeClient } from "../../../kube/client/client.ts";

const refuse = () => Promise.reject(new Error("not a part of this test"));

/** A client for tests in which no call is expected: every call fails. */
export const refusingClient: KubeClient = {
  ...{ get: refuse, list: refuse, create: refuse, replace: refuse, patch: refuse, delete: refuse },
  watch: () => {
    throw new Error("not a part of this test");
  },
};
