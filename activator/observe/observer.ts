import type { Tracer } from "../../lib/tracing/tracer.ts";
import type { Incoming } from "../request.ts";
import { Story, type StoryOptions } from "./story.ts";
import { spanOf, TracedStory } from "./traced-story.ts";

export interface ObserverOptions extends StoryOptions {
  readonly tracer: Tracer;
}

/** Keeps the record of every request: metrics, access log, timelines, traces. It decides nothing. */
export class Observer {
  readonly #options: ObserverOptions;

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  begin(incoming: Incoming): Story {
    this.#options.requests.began();
    const span = this.#options.tracer.enabled ? spanOf(incoming.head, this.#options.tracer) : undefined;
    const story = span ? new TracedStory(incoming, this.#options, span) : new Story(incoming, this.#options);
    incoming.onEnded((ended) => story.ended(ended));
    return story;
  }
}
