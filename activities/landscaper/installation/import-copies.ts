// The copies of imports in an Installation's own scope, where people and sub-installations find them under the blueprint's names.
// Source: spec/landscaper.md 1.13, 1.15, 2.3 "Init" 7 and "Completing" 1.
//
//   C1. A copy that is as it shall be is not written, and keeps the label of the job that wrote it.
//   C2. Stale is a copy of which the job has no import any more; what somebody else owns is never touched.

import {
  CONTEXT_LABEL,
  INDEX_LABEL,
  SOURCE_TYPE_LABEL,
  TARGET_MAP_KEY_LABEL,
} from '../../../workflows/landscaper/contract.ts'
import { dataObjectKind } from '../../../workflows/landscaper/data-object/kind.ts'
import { COPIES_CONDITION, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { Subject, WatchedKind } from '../../../workflows/kit/index.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { DataToWrite, WriteDataInput } from '../data-objects.ts'
import { finalFailure } from '../../kube/errors.ts'
import { labelValue } from '../label-value.ts'
import { listObjects } from '../../kube/read-family.ts'
import { isOwnedBy, ownerReference } from '../../kube/owners.ts'
import { type Write, type Writer, writeAll } from '../../kube/write.ts'
import type { ConstructedImports, TargetObject } from '../render/imports.ts'
import { dataLabels, dataObjectName, elementName, installationContext } from '../render/names.ts'

type Copied = Pick<ConstructedImports, 'data' | 'targetObjects'>

/** What to write, for `writeDataObjects`. @throws `ERR_CONFIGURATION_PROBLEM` (final) for a name that would lead out of the scope. */
export function importCopies(subject: Subject, jobID: string, imports: Copied): readonly WriteDataInput[] {
  const outside = [...Object.keys(imports.data), ...Object.keys(imports.targetObjects)].find((name) =>
    name.startsWith('#'),
  )
  if (outside !== undefined) {
    throw finalFailure('ERR_CONFIGURATION_PROBLEM', `import ${outside}: found #, expected a name that begins otherwise`)
  }
  const common = {
    ...{ namespace: subject.namespace, owner: ownerReference(installationKind, subject), jobID },
    ...{ keepsJobID: true, takenCode: 'NameTaken' as const },
  }
  return [
    { ...common, ...refusedAs('CreateDataObjects', dataObjectKind), objects: dataCopies(subject.name, jobID, imports) },
    { ...common, ...refusedAs('CreateTargets', targetKind), objects: targetCopies(subject.name, jobID, imports) },
  ]
}

function refusedAs<Watched extends WatchedKind>(reason: string, watched: Watched) {
  return { watched, condition: { type: COPIES_CONDITION, reason } }
}

function dataCopies(installation: string, jobID: string, { data }: Copied): DataToWrite[] {
  const context = installationContext(installation)
  return (
    Object.entries(data)
      // The API server takes a DataObject without a value for none.
      .filter(([, value]) => value !== null)
      .map(([key, value]) => ({
        name: dataObjectName(context, key),
        labels: copyLabels(context, key, jobID),
        content: { data: value },
      }))
  )
}

// Users select by the source: whose copy it is.
function copyLabels(context: string, key: string, jobID: string): Record<string, string> {
  return dataLabels({ context, key, sourceType: 'import', source: context, jobID })
}

function targetCopies(installation: string, jobID: string, { targetObjects }: Copied): DataToWrite[] {
  const context = installationContext(installation)
  const copy = (key: string, name: string, { spec }: TargetObject, labels: Record<string, string> = {}) => ({
    name: dataObjectName(context, name),
    labels: { ...copyLabels(context, key, jobID), ...labels },
    content: { spec },
  })
  return Object.entries(targetObjects).flatMap(([key, one]) => {
    if ('target' in one) return [copy(key, key, one.target)]
    if ('list' in one) {
      return one.list.map((target, index) =>
        copy(key, elementName(key, index), target, { [INDEX_LABEL]: String(index) }),
      )
    }
    return Object.entries(one.map).map(([element, target]) =>
      copy(key, elementName(key, element), target, { [TARGET_MAP_KEY_LABEL]: element }),
    )
  })
}

/** Deletes the copies that are none of `current`. @throws KubeError when a delete fails. */
export async function removeStaleCopies(
  deps: LandscaperDeps,
  writer: Writer,
  subject: Subject,
  current: readonly WriteDataInput[],
): Promise<void> {
  const labelSelector = [
    `${CONTEXT_LABEL}=${labelValue(installationContext(subject.name))}`,
    `${SOURCE_TYPE_LABEL}=import`,
  ].join(',')
  const stale = await Promise.all(
    current.map(async ({ watched, namespace, objects }): Promise<Write[]> => {
      const kept = new Set(objects.map(({ name }) => name))
      const found = await listObjects(deps, watched, namespace, { labelSelector })
      return found
        .filter((one) => isOwnedBy(one, installationKind, subject) && !kept.has(one.metadata.name))
        .map(({ metadata: { name, uid = '', resourceVersion } }) => {
          return { verb: 'delete', watched, namespace, name, uid, version: resourceVersion }
        })
    }),
  )
  for (const answer of await writeAll(deps, writer, stale.flat())) if (answer.result === 'failed') throw answer.error
}
