import type { Stored } from "../../api/kinds/meta.ts";
import type { SandboxClaim } from "../../api/kinds/sandbox-claim.ts";
import { controllerFirstObservedAtAnnotation, traceContextAnnotation } from "../../api/rules/keys.ts";
import { isNotFound } from "../../kube/client/errors.ts";
import type { Span } from "../../lib/tracing/tracer.ts";
import { contextToWrite } from "../traces.ts";
import { type Notes, notesPatch } from "./adoption/assignment.ts";
import type { PassSurroundings } from "./pass.ts";

type NoteSurroundings = Pick<PassSurroundings, "notes" | "sights" | "writes" | "writesNotes">;

/** The annotations of `Notes`, which are written together. */
const ourNotes = `${controllerFirstObservedAtAnnotation} or ${traceContextAnnotation}`;

/** The annotations that one pass writes on a claim. They only inform: the pass continues without them. */
export class ClaimNotes {
  readonly #around: NoteSurroundings;
  readonly #span: Span;
  readonly #signal: AbortSignal;
  #againMs: number | undefined;
  #failure: unknown;

  constructor(around: NoteSurroundings, span: Span, signal: AbortSignal) {
    this.#around = around;
    this.#span = span;
    this.#signal = signal;
  }

  /** Milliseconds until a rejected annotation is to be tried again. */
  get againMs(): number | undefined {
    return this.#againMs;
  }

  /** Why an annotation could not be written; a retry may succeed. */
  get failure(): unknown {
    return this.#failure;
  }

  of(claim: Stored<SandboxClaim>): Notes {
    const { writesNotes, sights } = this.#around;
    const noted = claim.metadata.annotations?.[controllerFirstObservedAtAnnotation];
    return {
      firstObservedAt: writesNotes && !noted ? sights.see(claim).at : undefined,
      traceContext: writesNotes ? contextToWrite(claim, this.#span) : undefined,
    };
  }

  /**
   * Returns the claim as it is then. `andMoved`: turn a legacy label assignment into an annotation.
   *
   * @throws ApiError 404 when the claim is gone: its Sandbox would be deleted at once.
   */
  async write(claim: Stored<SandboxClaim>, andMoved: boolean): Promise<Stored<SandboxClaim>> {
    const patch = notesPatch(claim, this.of(claim), andMoved);
    if (!patch) return claim;
    const { spec } = claim;
    const { generation = 0 } = claim.metadata;
    let written = claim;
    try {
      this.#againMs = await this.#around.notes.write(claim, ourNotes, async () => {
        const patched = await this.#around.writes.patchClaim(claim, patch, this.#signal);
        // The status reports the generation that this pass acted on; a newer generation enqueues the claim again.
        written = { ...patched, spec, metadata: { ...patched.metadata, generation } };
      });
    } catch (error) {
      this.#signal.throwIfAborted();
      if (isNotFound(error)) throw error;
      this.#failure = error;
    }
    return written;
  }

  /** The claim with a trace context for its Sandbox, even if the claim itself gets no annotation. */
  traced(claim: Stored<SandboxClaim>): Stored<SandboxClaim> {
    const context = contextToWrite(claim, this.#span);
    if (context === undefined) return claim;
    const { metadata } = claim;
    const annotations = { ...metadata.annotations, [traceContextAnnotation]: context };
    return { ...claim, metadata: { ...metadata, annotations } };
  }
}
