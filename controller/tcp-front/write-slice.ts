import { type EndpointSlice, endpointSliceType } from "../../api/between-programs/tcp-front.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ApiError, isNamespaceTerminating, isNotFound } from "../../kube/client/errors.ts";
import type { OwnWrites } from "../own-writes.ts";
import { semanticallyEqual } from "../semantic-equality.ts";
import type { FrontAction } from "./decide.ts";
import { ourPart } from "./make-slice.ts";

interface SliceWrites {
  readonly client: KubeClient;
  readonly slices: OwnWrites<EndpointSlice>;
}

/** @throws the errors of `KubeClient`. */
export async function writeSlice(
  key: string,
  action: FrontAction,
  { client, slices }: SliceWrites,
  signal: AbortSignal,
): Promise<void> {
  switch (action.do) {
    case "create":
      await slices.create(key, () => client.create(endpointSliceType, action.slice, {}, signal));
      return;
    case "replace": {
      const wanted = ourPart(action.slice);
      const isKept = (answer: EndpointSlice) => semanticallyEqual(ourPart(answer), wanted);
      await slices.replace(action.slice, isKept, () => client.replace(endpointSliceType, action.slice, {}, signal));
      return;
    }
    case "delete": {
      const { namespace, name, uid, resourceVersion } = action.slice.metadata;
      const preconditions = { uid, resourceVersion };
      await slices.delete(action.slice, () =>
        client.delete(endpointSliceType, { namespace, name }, { preconditions }, signal),
      );
    }
  }
}

/** Whether the namespace is being deleted, or is gone. */
export const isNamespaceGone = (error: unknown): boolean =>
  isNamespaceTerminating(error) ||
  (error instanceof ApiError && isNotFound(error) && error.status.details?.kind === "namespaces");
