import { type KeyObject, sign } from "node:crypto";
import type { MemoryImage } from "../../../api/kinds/memory-image.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import type { Pod } from "../../../api/kinds/pod.ts";

/** That one Pod, which the API server has named by a UID, may go on from one image. */
export interface Permit {
  readonly podUID: string;
  readonly namespace: string;
  readonly podName: string;
  readonly sandboxUID: string;
  readonly image: string;
  readonly imageHash: string;
  readonly runHash: string;
  readonly runscVersion: string;
}

/** Begins what is signed, so that no signature for anything else fits. */
const permitVersion = "rouse memory 1";

/** What is signed: each field with its length in four bytes before it. The shim computes the same. */
export function permitBytes(permit: Permit): Buffer {
  const { podUID, namespace, podName, sandboxUID, image, imageHash, runHash, runscVersion } = permit;
  const fields = [permitVersion, podUID, namespace, podName, sandboxUID, image, imageHash, runHash, runscVersion];
  return Buffer.concat(
    fields.flatMap((field) => {
      const text = Buffer.from(field, "utf8");
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.length);
      return [length, text];
    }),
  );
}

/** Undefined if the agent has not told what the image contains. */
export function permitFor({ metadata }: Stored<Pod>, image: Stored<MemoryImage>): Permit | undefined {
  const { imageHash, runscVersion } = image.status ?? {};
  if (imageHash === undefined || runscVersion === undefined) return undefined;
  const { sandboxUID, runHash } = image.spec;
  return {
    ...{ podUID: metadata.uid, namespace: metadata.namespace ?? "", podName: metadata.name },
    ...{ sandboxUID, image: image.metadata.name, imageHash, runHash, runscVersion },
  };
}

/** An Ed25519 signature, in base64. */
export const signPermit = (permit: Permit, key: KeyObject): string =>
  sign(null, permitBytes(permit), key).toString("base64");
