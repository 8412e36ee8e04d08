// Deletes the exports of an Installation before its job's failure is visible, so that no importer uses exports of an earlier job as current ones.
// Source: spec/landscaper.md 2.3 "Init" 1, docs/adr/0046.

import { SOURCE_LABEL, SOURCE_TYPE_LABEL } from '../../../workflows/landscaper/contract.ts'
import { dataObjectKind } from '../../../workflows/landscaper/data-object/kind.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'
import type { Subject } from '../../../workflows/kit/index.ts'
import type { ComingEnd } from '../../deps.ts'
import type { LandscaperDeps } from '../deps.ts'
import { labelValue } from '../label-value.ts'
import { isOnlyOwnedBy } from '../../kube/owners.ts'
import { listFromServer } from '../../kube/read-family.ts'
import { type Write, writeAll } from '../../kube/write.ts'
import { installationContext } from '../render/names.ts'

/** Deletes the exports when the job ends as failed; objects of other owners stay. @throws KubeError */
export async function withdrawExports(lasting: LandscaperDeps, { by, subject, phase, kube }: ComingEnd): Promise<void> {
  if (phase !== 'Failed') return
  const deps = { ...lasting, kube }
  const found = await Promise.all([dataObjectKind, targetKind].map((watched) => exportsOf(deps, subject, watched)))
  const writer = { ...by, step: 'withdrawExports', fieldManager: 'pawl-installation' }
  for (const answer of await writeAll(deps, writer, found.flat())) if (answer.result === 'failed') throw answer.error
}

async function exportsOf(
  deps: LandscaperDeps,
  subject: Subject,
  watched: typeof dataObjectKind | typeof targetKind,
): Promise<readonly Write[]> {
  const { namespace, name: installation } = subject
  const source = labelValue(installationContext(installation))
  const labelSelector = `${SOURCE_LABEL}=${source},${SOURCE_TYPE_LABEL}=export`
  const found = await listFromServer(deps, watched, namespace, labelSelector)
  return found
    .filter((one) => isOnlyOwnedBy(one, installationKind, subject))
    .map(({ metadata: { name, uid, resourceVersion: version } }) => {
      return { verb: 'delete', watched, namespace, name, uid, version }
    })
}
