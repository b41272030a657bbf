import type { OpenContractApi } from "./contract-api.ts";
import { describeDeleting } from "./deleting.ts";
import { describeEdges } from "./edges.ts";
import { describeFailures } from "./failures.ts";
import { describeFields } from "./fields.ts";
import { describeMemoryImages } from "./memory-images.ts";
import { describePaging } from "./paging.ts";
import { describePatching } from "./patching.ts";
import { describeSelecting } from "./selecting.ts";
import { describeServices } from "./services.ts";
import { describeStatusAndScale } from "./status-and-scale.ts";
import { describeValues } from "./values.ts";
import { describeWatching } from "./watching.ts";
import { describeWriting } from "./writing.ts";

/**
 * The behaviour of an API server that our programs and their users rely on. `open` gives each test its own
 * namespace. The custom resource definitions of `crds/` are installed, with those in its folders.
 */
export function describeApiServerContract(where: string, open: OpenContractApi): void {
  describeWriting(where, open);
  describeWatching(where, open);
  describePatching(where, open);
  describeDeleting(where, open);
  describeSelecting(where, open);
  describePaging(where, open);
  describeStatusAndScale(where, open);
  describeFailures(where, open);
  describeServices(where, open);
  describeValues(where, open);
  describeFields(where, open);
  describeMemoryImages(where, open);
  describeEdges(where, open);
}
