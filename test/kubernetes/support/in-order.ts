import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Sorts by path within each project, so that every run has the same order. */
export class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const orderOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    return [...files].sort((a, b) => orderOf(a) - orderOf(b) || (a.moduleId < b.moduleId ? -1 : 1));
  }
}
