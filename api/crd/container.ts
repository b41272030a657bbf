// The container of core/v1 in Kubernetes 1.36, and one field of 1.37.
import {
  atomicObject,
  bool,
  int32,
  int64,
  intOrString,
  listMapOf,
  listOf,
  mapOf,
  object,
  quantity,
  setOf,
  text,
  withDefault,
} from "./shapes.ts";

const emptyByDefault = withDefault(text, "");

/** A reference by name alone, as in `imagePullSecrets`. */
export const localReference = atomicObject({ name: emptyByDefault });

export const fieldRef = atomicObject({ apiVersion: text, "fieldPath*": text });
export const resourceFieldRef = atomicObject({ containerName: text, divisor: quantity, "resource*": text });
export const nameValue = object({ "name*": text, "value*": text });
export const securityProfile = object({ localhostProfile: text, "type*": text });
export const seLinuxOptions = object({ level: text, role: text, type: text, user: text });
export const windowsOptions = object({
  gmsaCredentialSpec: text,
  gmsaCredentialSpecName: text,
  hostProcess: bool,
  runAsUserName: text,
});

export const resources = object({
  claims: listMapOf(object({ "name*": text, request: text }), "name"),
  limits: mapOf(quantity),
  requests: mapOf(quantity),
});

export const httpGet = object({
  host: text,
  httpHeaders: listOf(nameValue),
  path: text,
  "port*": intOrString,
  scheme: text,
});

const keyRef = atomicObject({ "key*": text, name: emptyByDefault, optional: bool });
const optionalReference = atomicObject({ name: emptyByDefault, optional: bool });
const exec = object({ command: listOf(text) });
const tcpSocket = object({ host: text, "port*": intOrString });

const envVar = object({
  "name*": text,
  value: text,
  valueFrom: object({
    configMapKeyRef: keyRef,
    fieldRef,
    fileKeyRef: atomicObject({
      "key*": text,
      optional: withDefault(bool, false),
      "path*": text,
      "volumeName*": text,
    }),
    resourceFieldRef,
    secretKeyRef: keyRef,
  }),
});

const lifecycleHandler = object({ exec, httpGet, sleep: object({ "seconds*": int64 }), tcpSocket });

const port = object({
  "containerPort*": int32,
  hostIP: text,
  hostPort: int32,
  name: text,
  // The protocol is a key of the list, so it must be present.
  protocol: withDefault(text, "TCP"),
});

const probe = object({
  exec,
  failureThreshold: int32,
  grpc: object({ "port*": int32, service: emptyByDefault }),
  httpGet,
  initialDelaySeconds: int32,
  periodSeconds: int32,
  successThreshold: int32,
  tcpSocket,
  terminationGracePeriodSeconds: int64,
  timeoutSeconds: int32,
});

const securityContext = object({
  allowPrivilegeEscalation: bool,
  appArmorProfile: securityProfile,
  capabilities: object({ add: listOf(text), drop: listOf(text) }),
  privileged: bool,
  procMount: text,
  readOnlyRootFilesystem: bool,
  runAsGroup: int64,
  runAsNonRoot: bool,
  runAsUser: int64,
  seLinuxOptions,
  seccompProfile: securityProfile,
  windowsOptions,
});

const volumeMount = object({
  bindMountOptions: setOf(text), // Kubernetes 1.37
  "mountPath*": text,
  mountPropagation: text,
  "name*": text,
  readOnly: bool,
  recursiveReadOnly: text,
  subPath: text,
  subPathExpr: text,
});

const fields = {
  args: listOf(text),
  command: listOf(text),
  env: listMapOf(envVar, "name"),
  envFrom: listOf(object({ configMapRef: optionalReference, prefix: text, secretRef: optionalReference })),
  image: text,
  imagePullPolicy: text,
  lifecycle: object({ postStart: lifecycleHandler, preStop: lifecycleHandler, stopSignal: text }),
  livenessProbe: probe,
  "name*": text,
  ports: listMapOf(port, "containerPort", "protocol"),
  readinessProbe: probe,
  resizePolicy: listOf(object({ "resourceName*": text, "restartPolicy*": text })),
  resources,
  restartPolicy: text,
  restartPolicyRules: listOf(
    object({ "action*": text, exitCodes: object({ "operator*": text, values: setOf(int32) }) }),
  ),
  securityContext,
  startupProbe: probe,
  stdin: bool,
  stdinOnce: bool,
  terminationMessagePath: text,
  terminationMessagePolicy: text,
  tty: bool,
  volumeDevices: listMapOf(object({ "devicePath*": text, "name*": text }), "devicePath"),
  volumeMounts: listMapOf(volumeMount, "mountPath"),
  workingDir: text,
};

export const container = object(fields);
export const ephemeralContainer = object({ ...fields, targetContainerName: text });
