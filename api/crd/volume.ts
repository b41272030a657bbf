// The volume of core/v1 in Kubernetes 1.36.
import { fieldRef, localReference, resourceFieldRef } from "./container.ts";
import { labelSelector } from "./selectors.ts";
import { atomicObject, bool, int32, int64, listOf, mapOf, object, quantity, text, withDefault } from "./shapes.ts";
import { storageClaimSpec } from "./storage-claim.ts";

const files = listOf(object({ "key*": text, mode: int32, "path*": text }));
const downwardFiles = listOf(object({ fieldRef, mode: int32, "path*": text, resourceFieldRef }));
const projectedFiles = atomicObject({ items: files, name: withDefault(text, ""), optional: bool });

const projectedSource = object({
  clusterTrustBundle: object({ labelSelector, name: text, optional: bool, "path*": text, signerName: text }),
  configMap: projectedFiles,
  downwardAPI: object({ items: downwardFiles }),
  podCertificate: object({
    certificateChainPath: text,
    credentialBundlePath: text,
    keyPath: text,
    "keyType*": text,
    maxExpirationSeconds: int32,
    "signerName*": text,
    userAnnotations: mapOf(text),
  }),
  secret: projectedFiles,
  serviceAccountToken: object({ audience: text, expirationSeconds: int64, "path*": text }),
});

/** Sources that the kubelet creates itself or finds in the cluster. */
const ownSources = {
  configMap: atomicObject({ defaultMode: int32, items: files, name: withDefault(text, ""), optional: bool }),
  csi: object({
    "driver*": text,
    fsType: text,
    nodePublishSecretRef: localReference,
    readOnly: bool,
    volumeAttributes: mapOf(text),
  }),
  downwardAPI: object({ defaultMode: int32, items: downwardFiles }),
  emptyDir: object({ medium: text, sizeLimit: quantity }),
  ephemeral: object({
    // Labels and annotations given here are pruned: the metadata has no fields in the contract.
    volumeClaimTemplate: object({ metadata: { type: "object" }, "spec*": storageClaimSpec }),
  }),
  gitRepo: object({ directory: text, "repository*": text, revision: text }),
  hostPath: object({ "path*": text, type: text }),
  image: object({ pullPolicy: text, reference: text }),
  persistentVolumeClaim: object({ "claimName*": text, readOnly: bool }),
  projected: object({ defaultMode: int32, sources: listOf(projectedSource) }),
  secret: object({ defaultMode: int32, items: files, optional: bool, secretName: text }),
};

/** Sources that name a disk or a server outside of the cluster. */
const foreignSources = {
  awsElasticBlockStore: object({ fsType: text, partition: int32, readOnly: bool, "volumeID*": text }),
  azureDisk: object({
    cachingMode: text,
    "diskName*": text,
    "diskURI*": text,
    fsType: withDefault(text, "ext4"),
    kind: text,
    readOnly: withDefault(bool, false),
  }),
  azureFile: object({ readOnly: bool, "secretName*": text, "shareName*": text }),
  cephfs: object({
    "monitors*": listOf(text),
    path: text,
    readOnly: bool,
    secretFile: text,
    secretRef: localReference,
    user: text,
  }),
  cinder: object({ fsType: text, readOnly: bool, secretRef: localReference, "volumeID*": text }),
  fc: object({ fsType: text, lun: int32, readOnly: bool, targetWWNs: listOf(text), wwids: listOf(text) }),
  flexVolume: object({
    "driver*": text,
    fsType: text,
    options: mapOf(text),
    readOnly: bool,
    secretRef: localReference,
  }),
  flocker: object({ datasetName: text, datasetUUID: text }),
  gcePersistentDisk: object({ fsType: text, partition: int32, "pdName*": text, readOnly: bool }),
  glusterfs: object({ "endpoints*": text, "path*": text, readOnly: bool }),
  iscsi: object({
    chapAuthDiscovery: bool,
    chapAuthSession: bool,
    fsType: text,
    initiatorName: text,
    "iqn*": text,
    iscsiInterface: withDefault(text, "default"),
    "lun*": int32,
    portals: listOf(text),
    readOnly: bool,
    secretRef: localReference,
    "targetPortal*": text,
  }),
  nfs: object({ "path*": text, readOnly: bool, "server*": text }),
  photonPersistentDisk: object({ fsType: text, "pdID*": text }),
  portworxVolume: object({ fsType: text, readOnly: bool, "volumeID*": text }),
  quobyte: object({ group: text, readOnly: bool, "registry*": text, tenant: text, user: text, "volume*": text }),
  rbd: object({
    fsType: text,
    "image*": text,
    keyring: withDefault(text, "/etc/ceph/keyring"),
    "monitors*": listOf(text),
    pool: withDefault(text, "rbd"),
    readOnly: bool,
    secretRef: localReference,
    user: withDefault(text, "admin"),
  }),
  scaleIO: object({
    fsType: withDefault(text, "xfs"),
    "gateway*": text,
    protectionDomain: text,
    readOnly: bool,
    "secretRef*": localReference,
    sslEnabled: bool,
    storageMode: withDefault(text, "ThinProvisioned"),
    storagePool: text,
    "system*": text,
    volumeName: text,
  }),
  storageos: object({
    fsType: text,
    readOnly: bool,
    secretRef: localReference,
    volumeName: text,
    volumeNamespace: text,
  }),
  vsphereVolume: object({ fsType: text, storagePolicyID: text, storagePolicyName: text, "volumePath*": text }),
};

export const volume = object({ "name*": text, ...ownSources, ...foreignSources });
