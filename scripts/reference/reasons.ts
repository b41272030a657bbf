import type { ClaimReadyReason, ReasonOf, SandboxConditionType } from "../../api/rules/conditions.ts";
import type { RefusalReason } from "../../controller/suspension/hibernation/memory-provider.ts";
import type { LossReason } from "../../controller/suspension/hibernation/restore.ts";

/** Where a reason appears, and its meaning for a reader of `kubectl describe`. */
interface Reason {
  readonly on: string;
  readonly means: string;
}

/** Reasons of events that the controller records. */
export const eventReasons: Readonly<Record<string, Reason>> = {
  ActivatorUnreachable: {
    on: "Pod of an activator",
    means:
      "The activator does not respond to the controller. This blocks suspension for inactivity until the activator responds, its Pod is gone or has not been Ready for 5 minutes, or --activator-silence-limit has passed.",
  },
  AnnotationNotWritten: {
    on: "Sandbox; SandboxClaim",
    means:
      "The API server rejected an annotation that the controller can do without, often because all annotations of the object together may have at most 256 KiB. The text names the annotation. The controller retries after at most 10 minutes, or once the object has fewer bytes of annotations. The controller tries to write the cause of a suspension at each reconcile.",
  },
  BusyProbeUnanswered: {
    on: "Sandbox",
    means:
      "Its busy probe got no response, neither through an activator nor directly, or could not be sent. The sandbox counts as busy for at most busyProbe.limitSeconds.",
  },
  ClaimCleanupFailed: {
    on: "SandboxClaim",
    means:
      "It has expired, and the API server does not let the controller delete it or its Sandbox; the text names the cause. The controller tries again.",
  },
  ClaimExpired: {
    on: "SandboxClaim",
    means:
      "Its lifetime is over; its shutdownPolicy says what happens next. If the controller deletes the claim, a second event reports this.",
  },
  MemoryNotKept: {
    on: "Sandbox",
    means:
      "It has suspensionStrategy.type Hibernate and is suspended without its memory, or its memory was lost during the sleep; the text names all reasons. status.hibernation has them too.",
  },
  MemoryKept: {
    on: "Sandbox",
    means: "It is suspended, and its memory is on its node; the text has the size and the duration of the capture.",
  },
  MemoryLost: {
    on: "Sandbox",
    means:
      "Its memory was kept, and its new Pod does not have it: its processes were started anew. Or the memory was removed during the sleep, because suspensionStrategy.type was changed or the sandbox has expired. The text has the reason, as in status.hibernation.",
  },
  PodRejected: {
    on: "Sandbox",
    means:
      "The API server, an admission policy or a webhook rejects (400, 403, 413 or 422, but not for a quota or a namespace that is being deleted) the Pod that is to be restored, or the signature on that Pod, but not a Pod without the memory. If a webhook does not support dry runs, a Pod without the memory counts as accepted. The controller gives up the memory; the text has the message of the API server.",
  },
  MemoryRestored: {
    on: "Sandbox",
    means: "Its processes continue with their memory in a new Pod.",
  },
  MultiplePods: {
    on: "Sandbox",
    means:
      "Several Pods belong to it. These Pods and its Service stay as they are until one Pod is left, or the sandbox expires.",
  },
  NetworkPolicyKept: {
    on: "NetworkPolicy",
    means:
      "Its SandboxTemplate is gone, and the policy stays until the last Sandbox and the last running Pod of that template are gone.",
  },
  NetworkPolicyNotWritten: {
    on: "SandboxTemplate; NetworkPolicy, Sandbox or Pod where the template is gone",
    means:
      "The NetworkPolicy of a SandboxTemplate could not be written, or belongs to another owner; the text names both and the cause.",
  },
  NetworkPolicyRestored: {
    on: "NetworkPolicy",
    means:
      "It was missing, and its SandboxTemplate is gone. The controller recreated the policy for the remaining Sandboxes and Pods.",
  },
  NotAnActivator: {
    on: "Pod",
    means: "It has the labels of an activator but another service account, so the controller ignores it.",
  },
  PodFailed: { on: "Sandbox", means: "Its Pod has failed while the sandbox should run." },
  PodSucceeded: { on: "Sandbox", means: "Its Pod has ended with success while the sandbox should run." },
  SandboxAdopted: { on: "SandboxClaim", means: "It was given a sandbox of a warm pool." },
  SandboxCleanupFailed: {
    on: "Sandbox",
    means:
      "It has expired, and the API server does not let the controller delete its Pod, its Service or the Sandbox itself; the text names the cause. The controller tries again.",
  },
  SandboxExpired: { on: "Sandbox", means: "Its shutdownTime has passed, and its shutdownPolicy is Retain." },
  SandboxIdle: {
    on: "Sandbox",
    means: "Its suspension for inactivity begins; the text says for how long it was idle.",
  },
  SandboxPodCreated: { on: "Sandbox", means: "Its Pod was created." },
  SandboxPodCreateFailed: { on: "Sandbox", means: "Its Pod could not be created; the text names the cause." },
  SandboxProvisioned: { on: "SandboxClaim", means: "A sandbox was created for it." },
  SandboxReady: { on: "Sandbox", means: "It became ready." },
  SandboxSuspended: {
    on: "Sandbox",
    means: "Its suspension is complete: its Pod is gone. A sandbox that was created suspended gets no event.",
  },
  SandboxSuspensionFailed: {
    on: "Sandbox",
    means: "A step of its suspension failed, and is retried; the text names the cause.",
  },
  SandboxVolumeClaimFailed: {
    on: "Sandbox",
    means:
      "One of its volume claims could not be created or adopted, belongs to another owner, or is being deleted. Its Pod does not start before the sandbox has all of them; a Pod that exists stays. The text names the claim and the cause.",
  },
  SandboxWoken: {
    on: "Sandbox",
    means: "A request, a TCP connection, or data on an open connection woke it; the text names the port.",
  },
  SandboxWorkCut: {
    on: "Sandbox",
    means:
      "Its Pod was captured or deleted while work was in flight, or without the response of an activator that may have had work in flight. This happens when an activator has not responded for 5 minutes, or after drainTimeoutSeconds: in a manual suspension to all work, in a suspension for inactivity only to requests that match ignoreRequests. The text names the work that was cut.",
  },
  SuspensionBlocked: {
    on: "Sandbox",
    means:
      "It has suspensionStrategy.onFailure StayAwake and its memory cannot be kept, so it is not suspended for inactivity. The text names all reasons.",
  },
  SuspensionCancelled: {
    on: "Sandbox",
    means: "A suspension for inactivity was cancelled; the text names the reason.",
  },
  TcpFrontNotWritten: {
    on: "Sandbox",
    means:
      "The API server rejected a write of the EndpointSlice of its Service; the text names the cause. The write is retried.",
  },
  TcpFrontPortLimitExceeded: {
    on: "Sandbox",
    means:
      "Some of its ports cannot be reached by the name of its Service: a limit per sandbox or namespace is reached.",
  },
  TcpFrontPortsExhausted: {
    on: "Sandbox",
    means:
      "Some of its ports cannot be reached by the name of its Service: all activator ports are in use or in quarantine.",
  },
  UnreadableTime: {
    on: "Sandbox, SandboxClaim",
    means: "A time in its spec cannot be read, although the API server accepted it. The controller ignores that time.",
  },
  WarmPoolNotProgressing: { on: "SandboxWarmPool", means: "It makes no progress; the text names the obstacle." },
  WarmPoolProgressing: { on: "SandboxWarmPool", means: "It makes progress again." },
};

type Meanings<R extends string> = Readonly<Record<R, string>>;

/** Reasons of the conditions of a Sandbox, by the type of the condition. */
export const sandboxConditionReasons: { readonly [T in SandboxConditionType]: Meanings<ReasonOf<T>> } = {
  Ready: {
    DependenciesReady: "Its Pod is ready, and its Service exists, if it has one.",
    DependenciesNotReady: "Its Pod is missing or not ready, or its Service is missing; the message says which.",
    SandboxSuspended: "It is suspended or being suspended.",
    SandboxExpired: "Its shutdownTime has passed. If its cleanup fails, the message names the error.",
    PodSucceeded: "Its Pod has ended with success.",
    PodFailed: "Its Pod has failed.",
    MultiplePods:
      "Several Pods belong to it. These Pods and its Service stay as they are until one Pod is left, or the sandbox expires.",
    InvalidConfiguration:
      "The API server answers 422 Invalid to the write of an object of the sandbox, such as the Pod; an admission policy may be the cause. The controller retries the write after 10 s, then after pauses that double up to 10 minutes (longer while many writes are rejected), and when the Sandbox or an object of it changes. Or the Sandbox has more than 100 integers beyond 2^53, and at least one is in the Pod template; the controller creates no Pod until the Sandbox changes. If something else fails too, or the API server gives another answer, such as 400 or 403, as most admission webhooks do, the reason is ReconcilerError.",
    ReconcilerError: "A reconcile failed; it is retried. The message names the error.",
  },
  Suspended: {
    PodTerminated: "It is suspended, and its Pod is gone.",
    PodTerminating: "It is being suspended: its Pod is drained or is being deleted.",
    NotSuspended: "It is not suspended.",
    PodNotOwned:
      "The Pod that its annotation agents.x-k8s.io/pod-name names, or else the Pod of its own name, does not belong to the sandbox, because it has another owner, or none. The controller leaves the Pod alone, and removes the annotation.",
    PodStateUnknown: "It is being suspended, and it is not known yet whether its Pod is gone.",
  },
  Finished: { PodSucceeded: "Its Pod has ended with success.", PodFailed: "Its Pod has failed." },
  PodScheduled: {
    PodScheduled: "Its Pod has a node. All other reasons come from the scheduler.",
    PodSchedulingUnknown:
      "Its Pod has not reported yet whether it has a node, or could not be created, adopted or deleted.",
  },
  ServicePortsAllocated: {
    SandboxPortLimitExceeded:
      "It has more ports than --tcp-front-ports-per-sandbox, or more than twice that number if quarantined ports count too.",
    NamespacePortLimitExceeded:
      "Its namespace has reached --tcp-front-ports-per-namespace, quarantined ports included.",
    PortsExhausted: "All activator ports are in use or in quarantine.",
  },
  AutoSuspensionBlocked: {
    ActivatorUnreachable:
      "An activator that may proxy connections to it does not respond, so it is not suspended for inactivity.",
    AnnotationRejected:
      "The API server rejects an annotation that its suspension for inactivity needs, often because the annotations are too large, or an admission policy or webhook removes it from the write. The controller retries after at most 10 minutes, or once the sandbox has fewer bytes of annotations.",
    MemoryNotKept:
      "It has suspensionStrategy.onFailure StayAwake, and its memory cannot be kept; the message names all reasons. A manual suspension still takes place.",
  },
};

/** Reasons in `status.hibernation` of a Sandbox, the first to apply. */
export const memoryReasons: Meanings<RefusalReason> = {
  RuntimeClassNotSet: "runtimeClassName of the Pod is not set. Memory can be kept in gVisor only.",
  HostNetwork: "The Pod uses the network of its node.",
  InitContainers: "The Pod has init containers or sidecar containers, perhaps from a mutating webhook.",
  EphemeralContainers: "The Pod has ephemeral containers, for example after kubectl debug.",
  PostStartHook: "A container of the Pod has a postStart hook.",
  Devices: "The Pod uses GPUs or other extended resources, resource claims, or raw block volumes.",
  EphemeralVolumes:
    "The Pod has volumes that end with it (emptyDir, ephemeral, csi or gitRepo). The next Pod gets new ones, and the memory would not match them.",
  UnknownVolumes:
    "The Pod has volumes of kinds other than persistentVolumeClaim, hostPath, configMap, secret, projected and downwardAPI, such as the files of a container image. Nobody knows whether the next Pod has the same files.",
  PodAddress:
    "A container gets the address of the Pod in an environment variable (status.podIP). The restored processes would keep the former address, and a listener on it would get no connections.",
  PodIdentity:
    "command, args or subPathExpr of a container use, as $(NAME), an environment variable with metadata.uid or an annotation of the Pod. These values differ from Pod to Pod, and a restored Pod must run the same command. A shell in the container can read the variable instead.",
  NoProvider: "The controller runs without --hibernation.",
  NoSigningKey:
    "The controller cannot read or create the key that signs restores, or cannot write the public half of the key for the nodes; the log of the controller has the cause. The controller retries.",
  NoGvisor: "Local mode has no gVisor: it runs programs as processes of this machine.",
  PodTooOld:
    "The Pod was created before the sandbox got suspensionStrategy.type Hibernate, or before the controller got --hibernation. The next Pod of the sandbox can hibernate.",
  AgentNotReady: "The node has no agent whose Pod is Ready.",
  NoAnswer: "The node agent has not reported yet whether it can keep the memory of this Pod.",
  AgentRefused: "The node agent cannot capture the Pod; the message has its reason.",
  ContainerImageUnknown:
    "The status of the Pod does not name the container image of each container by its digest, so the controller could not use the same container images later.",
  CaptureFailed:
    "The capture failed; the message has the reason of the node agent. The Pod ended as in any suspension.",
  AgentSilent: "The node agent did not end the capture within timeoutSeconds and 5 s more.",
  NotRecorded:
    "The memory was captured, but the controller could not write this into the status within 30 s. A later controller uses only memory that the status reports.",
  ImageLost:
    "The memory was kept. During the sleep the node lost the memory, or the MemoryImage was deleted; the message says which.",
  Evicted: "The memory was kept. During the sleep the node removed the memory to make room for a newer memory image.",
  StrategyChanged:
    "The memory was kept. During the sleep suspensionStrategy.type was changed, so the controller removed the memory.",
  NotCaptured: "The memory was not captured, although no reason against the capture was known.",
};

/** Reasons in `status.hibernation.lastWake` of a Sandbox whose memory was kept, and was not restored. */
export const lossMeanings: Meanings<LossReason> = {
  StrategyChanged: "During the sleep suspensionStrategy.type was changed from Hibernate.",
  RunChanged:
    "What the sandbox runs has changed since the capture: container images, command, environment, volumes, limits or another part of its Pod template, or the name of its Pod. The sandbox starts anew from the new template.",
  NotRecorded:
    "The status did not report this memory, for example because a controller without --hibernation managed the sandbox meanwhile.",
  SeveralImages: "Several MemoryImages claim to have its memory, so none was used.",
  AlreadyUsed:
    "A Pod was already restored from this memory, or has tried to restore it, or was created for it and it is unknown what became of that Pod.",
  ForeignPod:
    "The sandbox got a Pod that the controller did not create: an adopted Pod, or a Pod that somebody created with its name.",
  NotScheduled:
    "The node that has the memory took no Pods, for example because it was cordoned or full: the scheduler still reported this after 1 s, was still ending other Pods to make room for the Pod after 60 s, or reported nothing for 5 min. Or the Pod template names another node.",
  NotStarted:
    "The node that has the memory started no container of the Pod within 15 min, for example because its store of memory images was full, read-only or not mounted.",
  ContainerImageUnknown:
    "The MemoryImage does not say which container images the Pod ran, for example because a former release of the controller created it.",
  ContainerImageMissing:
    "A container image that the captured Pod ran is no longer available, or could not be pulled for 40 s. The sandbox starts anew from the container images that its Pod template names.",
  PodRejected:
    "The API server, an admission policy or a webhook rejects the Pod that is to be restored, for example because it names container images by digest, but not the Pod that the Pod template describes. The event PodRejected has the message of the API server.",
  NoSigningKey:
    "The controller could not read or create the key that signs restores, or could not write the public half of the key for the nodes; the log of the controller has the cause.",
  ImageLost: "The MemoryImage is gone, or its node has lost the memory.",
  Evicted: "Its node has removed the memory to make room for a newer memory image.",
  RestoreFailed: "gVisor could not restore the memory, or the Pod ended before it was restored.",
  RestoreRefused:
    "The shim on the node did not use the memory: it is missing or incomplete, its bytes have changed, another build of gVisor wrote it, the Pod would not run the same as the captured Pod, or the node found no valid signature of the controller for the Pod.",
  NoProvider: "The controller runs without --hibernation now.",
};

/** Reasons of the condition Ready of a SandboxClaim, beside those of its Sandbox. */
export const claimReadyReasons: Meanings<ClaimReadyReason> = {
  TemplateNotFound: "Its SandboxTemplate does not exist.",
  WarmPoolNotFound: "Its SandboxWarmPool does not exist.",
  AdoptionConflict:
    "The sandbox that it should get was taken or deleted, or the sandbox or the claim kept changing. The claim tries again, with another sandbox if needed.",
  SandboxCreatePending: "Its sandbox exists, but the watch of the controller has not shown it yet.",
  InvalidMetadata: "Its additional labels or annotations are not permitted.",
  EnvVarsInjectionRejected:
    "The template permits no environment variables of claims. Or it permits only new ones (Allowed), and gives the container variables by envFrom. If the container has the variable already, or does not exist, the reason is ReconcilerError.",
  VolumeClaimTemplatesError:
    "The template permits no volumeClaimTemplates of claims. Or it permits only new ones (Allowed), and one has the name of a volume of the template. Or one of the claim or of the template has no name. Or two have the same name.",
  ClaimExpired:
    "Its lifetime is over. If the API server does not let the controller delete it or its Sandbox, the message names the error.",
  SandboxExpired: "Its sandbox has expired.",
  SandboxMissing:
    "Its sandbox repeatedly disappeared within a minute of its creation. The next one is created after a wait of at most 30 s.",
  SandboxNotReady: "Its sandbox has no condition Ready yet, or the Pod of its sandbox has ended and is being replaced.",
  SandboxResuming:
    "Its sandbox was suspended for inactivity and gets its Pod again. Ready stays True for at most autoResume.timeoutSeconds; an obstacle, such as a Pod that has failed, ends that at once.",
  InvalidConfiguration:
    "The API server answers 422 Invalid to a write for the claim, such as the creation of its sandbox; an admission policy may be the cause. The controller retries the write after 10 s, then after pauses that double up to 10 minutes (longer while many writes are rejected), and when the claim, its pool, its template or its sandbox changes. With another answer, such as 400 or 403, as most admission webhooks give, the reason is ReconcilerError.",
  ReconcilerError: "A reconcile failed; it is retried. The message names the error.",
};
