import { isDnsLabel, isDnsSubdomain } from "../../../api/rules/names.ts";

/** Names an image: the folder `NAMESPACE/POD/IMAGE` of the store. */
export interface ImageKey {
  readonly namespace: string;
  readonly pod: string;
  readonly image: string;
}

export const textOf = ({ namespace, pod, image }: ImageKey): string => `${namespace}/${pod}/${image}`;

/** Undefined for names that no image has: they come from objects of the API, and become paths. */
export function imageKey(namespace = "", pod = "", image = ""): ImageKey | undefined {
  return isDnsLabel(namespace) && isDnsSubdomain(pod) && isDnsLabel(image) ? { namespace, pod, image } : undefined;
}

export function readKey(text: string): ImageKey {
  const [namespace = "", pod = "", image = ""] = text.split("/");
  return { namespace, pod, image };
}
