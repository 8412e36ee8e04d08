// Before an Execution goes: its items are uninstalled, so their Targets may have lost their last user. The Execution's finalizer is still there, so that
// a pass that is interrupted repeats the release. Source: docs/adr/0064.

import { type Execution, executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import type { ComingRelease } from '../../deps.ts'
import { readSubject } from '../../kube/read-family.ts'
import { storedAs } from '../../kube/stored.ts'
import type { LandscaperDeps } from '../deps.ts'

/** @throws KubeError */
export async function releaseTargets(deps: LandscaperDeps, { by, subject }: ComingRelease): Promise<void> {
  const seen = deps.objects.get(subject.uid)
  const execution = seen === undefined ? await readSubject(deps, executionKind, subject) : storedAs(executionKind, seen)
  if (execution === undefined || !mayHaveTargets(execution)) return
  await deps.landscaper.protection.release(by, subject.namespace)
}

/** False only where it is known: items that the spec no longer names have released their Targets themselves. */
function mayHaveTargets({ spec }: Execution): boolean {
  const { deployItems = [], deployItemsCompressed } = spec
  return deployItemsCompressed !== undefined || deployItems.some((item) => item.target !== undefined)
}
