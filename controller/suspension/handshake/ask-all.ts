import type { SandboxIdentity } from "../../../api/between-programs/drain-protocol.ts";
import type { Reply } from "../activators/activator-replies.ts";
import type { Round, SuspensionStep } from "./decide-suspension.ts";

/** Asks every activator the questions of the handshake; rejects when they cannot be listed. */
export interface Askers {
  observed(
    about: { readonly sandbox: SandboxIdentity; readonly podUid: string; readonly generation: number },
    signal: AbortSignal,
  ): Promise<readonly Reply[]>;
  promises(
    about: { readonly sandbox: SandboxIdentity; readonly podUid: string },
    signal: AbortSignal,
  ): Promise<readonly Reply[]>;
}

export type QuestionStep = Extract<SuspensionStep, { do: "askObserved" | "askPromises" }>;

/** Makes a step that is a question to every activator; without any, nobody replies. */
export async function askAll(
  askers: Askers | undefined,
  sandbox: SandboxIdentity,
  step: QuestionStep,
  signal: AbortSignal,
): Promise<Round> {
  const { podUid } = step;
  if (step.do === "askPromises") {
    const replies = (await askers?.promises({ sandbox, podUid }, signal)) ?? [];
    return { asked: "promise", podUid, replies };
  }
  const { generation } = step;
  const replies = (await askers?.observed({ sandbox, podUid, generation }, signal)) ?? [];
  return { asked: "observed", podUid, generation, replies };
}
