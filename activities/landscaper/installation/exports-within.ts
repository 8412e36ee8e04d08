// Reads the exports of sub-installations in the scope of their parent. Source: spec/landscaper.md 3.6 "Template bindings".

import { CONTEXT_LABEL, SOURCE_TYPE_LABEL } from '../../../workflows/landscaper/contract.ts'
import { dataObjectKind } from '../../../workflows/landscaper/data-object/kind.ts'
import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { labelValue } from '../data-objects.ts'
import { listObjects } from '../../kube/read-family.ts'
import { isOnlyOwnedBy } from '../../kube/owners.ts'
import type { ExportBindings } from '../render/executions.ts'
import { dataObjectName, installationContext } from '../render/names.ts'
import { targetObject } from './imports.ts'
import { readSubInstallations } from './observe.ts'

/**
 * Values and Targets by their export names, in the form that templates see. The names come from the specs, because a label holds only a hash of a
 * long name.
 */
export async function exportsWithin(
  deps: LandscaperDeps,
  by: By,
  subject: Subject,
): Promise<Pick<ExportBindings, 'dataobjects' | 'targets'>> {
  const { namespace, name } = subject
  const context = installationContext(name)
  const labelSelector = [`${CONTEXT_LABEL}=${labelValue(context)}`, `${SOURCE_TYPE_LABEL}=export`].join(',')
  const [subs, data, targets] = await Promise.all([
    readSubInstallations(deps, by, subject),
    listObjects(deps, dataObjectKind, namespace, { labelSelector }),
    listObjects(deps, targetKind, namespace, { labelSelector }),
  ])
  const named = <One extends Exported>(found: readonly One[], refs: RefsOf, value: (one: One) => unknown) => {
    const objects = new Map(found.map((one) => [one.metadata.name, one]))
    return Object.fromEntries(
      subs.flatMap((sub) =>
        refs(sub.spec.exports ?? {}).flatMap((ref) => {
          const one = objects.get(dataObjectName(context, ref))
          return one === undefined || !isOnlyOwnedBy(one, installationKind, ownerOf(sub))
            ? []
            : [[ref, value(one)] as const]
        }),
      ),
    )
  }
  return {
    dataobjects: named(data, dataRefs, (one) => one.data ?? null),
    targets: named(targets, targetRefs, targetObject),
  }
}

type Exported = Pick<KubeObject, 'metadata'>
type RefsOf = (exports: NonNullable<Installation['spec']['exports']>) => readonly string[]

const dataRefs: RefsOf = ({ data = [] }) => data.map(({ dataRef }) => dataRef)
const targetRefs: RefsOf = ({ targets = [] }) => targets.flatMap(({ target = '' }) => (target === '' ? [] : [target]))

function ownerOf({ metadata: { uid, name, namespace } }: Installation) {
  return { uid, name, namespace }
}
