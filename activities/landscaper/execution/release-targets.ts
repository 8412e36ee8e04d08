// Releases Targets before an Execution or Installation is deleted: its items are uninstalled, so their Targets may have lost their last user. Its
// finalizer still exists, so that a repeated pass repeats an interrupted release. Source: docs/adr/0064.

import { type Execution, executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { ComingRelease } from '../../deps.ts'
import { readSubject } from '../../kube/read-family.ts'
import { storedAs } from '../../kube/object-views.ts'
import type { LandscaperDeps } from '../deps.ts'

/** @throws KubeError */
export async function releaseTargetsOfInstallation(
  deps: LandscaperDeps,
  { by, subject }: ComingRelease,
): Promise<void> {
  const seen = deps.objects.get(subject.uid)
  const installation =
    seen === undefined ? await readSubject(deps, installationKind, subject) : storedAs(installationKind, seen)
  if ((installation?.spec.imports?.targets ?? []).length === 0) return
  await deps.landscaper.protection.removeFinalizers(by, subject.namespace)
}

/** @throws KubeError */
export async function releaseTargetsOfExecution(deps: LandscaperDeps, { by, subject }: ComingRelease): Promise<void> {
  const seen = deps.objects.get(subject.uid)
  const execution = seen === undefined ? await readSubject(deps, executionKind, subject) : storedAs(executionKind, seen)
  if (execution === undefined || !mayHaveTargets(execution)) return
  await deps.landscaper.protection.removeFinalizers(by, subject.namespace)
}

/** False only if it is certain: items that the spec no longer names have released their Targets themselves. */
function mayHaveTargets({ spec }: Execution): boolean {
  const { deployItems = [], deployItemsCompressed } = spec
  return deployItemsCompressed !== undefined || deployItems.some((item) => item.target !== undefined)
}
