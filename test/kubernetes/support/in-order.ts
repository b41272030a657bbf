import { BaseSequencer, type TestSpecification } from "vitest/node";

/** By path, so that the record of what the others have done is looked at after them. */
export class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return [...files].sort((a, b) => (a.moduleId < b.moduleId ? -1 : 1));
  }
}
