// Writes the copies of imports in an Installation's own scope, where users and sub-installations find them under the blueprint's names. Source:
// spec/landscaper.md 1.13, 1.15, 2.3 "Init" 7 and "Completing" 1.
//
//   C1. An unchanged copy is not written, and keeps the label of the job that wrote it.
//   C2. Its annotations have the source of the value, and for ConfigMaps the previous value, for `pawl diff`. An upgrade of Pawl adds them with the
//       next change of the value (C1).
//   C3. A copy is stale if the job has no such import. Objects of other owners are never changed.

import {
  CONTEXT_LABEL,
  INDEX_LABEL,
  KEY_LABEL,
  SOURCE_TYPE_LABEL,
  TARGET_MAP_KEY_LABEL,
} from '../../../workflows/landscaper/contract.ts'
import { dataObjectKind } from '../../../workflows/landscaper/data-object/kind.ts'
import { COPIES_CONDITION, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { Subject, WatchedKind } from '../../../workflows/kit/index.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'
import type { LandscaperDeps } from '../deps.ts'
import { CONFIG_MAP_SOURCE, type DataToWrite, type WriteDataInput, labelValue } from '../data-objects.ts'
import type { InstallationSpec } from './spec.ts'
import type { KubeObject } from '../../kube/client.ts'
import { finalFailure } from '../../kube/errors.ts'
import { listObjects } from '../../kube/read-family.ts'
import { isOnlyOwnedBy, ownerReference } from '../../kube/owners.ts'
import { type Write, type Writer, writeAll } from '../../kube/write.ts'
import type { ConstructedImports, TargetObject } from '../render/imports.ts'
import { dataLabels, dataObjectName, elementName, installationContext } from '../render/names.ts'

type ImportSpec = Pick<InstallationSpec, 'imports' | 'importDataMappings'>
type Copied = Pick<ConstructedImports, 'data' | 'targetObjects'>

/** The input of `writeDataObjects`. @throws `ERR_CONFIGURATION_PROBLEM` (final) for a name that leads out of the scope. */
export function importCopies(
  subject: Subject,
  jobID: string,
  imports: Copied,
  spec: ImportSpec,
): readonly WriteDataInput[] {
  const outside = [...Object.keys(imports.data), ...Object.keys(imports.targetObjects)].find((name) =>
    name.startsWith('#'),
  )
  if (outside !== undefined) {
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `import "${outside}": found "#"; expected a name without "#" at the beginning`,
    )
  }
  const common = {
    namespace: subject.namespace,
    owner: ownerReference(installationKind, subject),
    jobID,
    keepsJobID: true,
    takenCode: 'NameTaken' as const,
  }
  return [
    {
      ...common,
      ...withCopiesCondition('CreateDataObjects', dataObjectKind),
      objects: dataCopies(subject.name, jobID, imports, spec),
    },
    {
      ...common,
      ...withCopiesCondition('CreateTargets', targetKind),
      objects: targetCopies(subject.name, jobID, imports),
    },
  ]
}

function withCopiesCondition<Watched extends WatchedKind>(reason: string, watched: Watched) {
  return { watched, condition: { type: COPIES_CONDITION, reason } }
}

function dataCopies(installation: string, jobID: string, { data }: Copied, spec: ImportSpec): DataToWrite[] {
  const context = installationContext(installation)
  return (
    Object.entries(data)
      // The API server drops a null value of a DataObject.
      .filter(([, value]) => value !== null)
      .map(([key, value]) => ({
        name: dataObjectName(context, key),
        labels: copyLabels(context, key, jobID),
        source: valueSource(key, spec),
        content: { data: value },
      }))
  )
}

/** The value of the annotation. A mapping overrides an import of the same name. */
function valueSource(key: string, { imports, importDataMappings = {} }: ImportSpec): string {
  if (Object.hasOwn(importDataMappings, key)) return 'importDataMappings'
  const { dataRef, secretRef, configMapRef } = imports?.data?.find(({ name }) => name === key) ?? {}
  if (configMapRef !== undefined) return `${CONFIG_MAP_SOURCE}${configMapRef.name}/${configMapRef.key}`
  if (secretRef !== undefined) return `Secret/${secretRef.name}/${secretRef.key}`
  return hasText(dataRef) ? `DataObject/${dataRef}` : 'default'
}

function hasText(text: string | undefined): text is string {
  return text !== undefined && text !== ''
}

// Users select copies by the label `source`.
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

/** Deletes the copies that are not in `current`. @throws KubeError when a delete fails. */
export async function removeStaleCopies(
  deps: LandscaperDeps,
  writer: Writer,
  subject: Subject,
  current: readonly WriteDataInput[],
): Promise<void> {
  await write(deps, writer, (await staleCopies(deps, subject, current)).map(deletion))
}

/**
 * Does this before the job's children start, but Targets are only removed from their lists and maps, by removing the label of their key:
 * sub-installations that this job deletes still need them to uninstall.
 */
export async function detachStaleCopies(
  deps: LandscaperDeps,
  writer: Writer,
  subject: Subject,
  current: readonly WriteDataInput[],
): Promise<void> {
  const stale = await staleCopies(deps, subject, current)
  const writes = stale.flatMap((one): Write[] => {
    if (one.watched !== targetKind) return [deletion(one)]
    return one.object.metadata.labels?.[KEY_LABEL] === undefined ? [] : [withoutKey(one)]
  })
  await write(deps, writer, writes)
}

/** Whether a copy exists only to uninstall what was deployed to it. */
export function isDetached({ metadata: { labels = {} } }: Pick<KubeObject, 'metadata'>): boolean {
  return (
    labels[SOURCE_TYPE_LABEL] === 'import' && labels[CONTEXT_LABEL] !== undefined && labels[KEY_LABEL] === undefined
  )
}

interface StaleCopy {
  readonly watched: WatchedKind
  readonly namespace: string
  readonly object: KubeObject
}

async function staleCopies(
  deps: LandscaperDeps,
  subject: Subject,
  current: readonly WriteDataInput[],
): Promise<readonly StaleCopy[]> {
  const labelSelector = [
    `${CONTEXT_LABEL}=${labelValue(installationContext(subject.name))}`,
    `${SOURCE_TYPE_LABEL}=import`,
  ].join(',')
  const stale = await Promise.all(
    current.map(async ({ watched, namespace, objects }) => {
      const currentNames = new Set(objects.map(({ name }) => name))
      const found = await listObjects(deps, watched, namespace, { labelSelector })
      return found
        .filter((one) => isOnlyOwnedBy(one, installationKind, subject) && !currentNames.has(one.metadata.name))
        .map((object) => ({ watched, namespace, object }))
    }),
  )
  return stale.flat()
}

function deletion({ watched, namespace, object }: StaleCopy): Write {
  const { name, uid = '', resourceVersion } = object.metadata
  return { verb: 'delete', watched, namespace, name, uid, version: resourceVersion }
}

function withoutKey({ watched, namespace, object }: StaleCopy): Write {
  const { name, resourceVersion = '' } = object.metadata
  const patch = { metadata: { labels: { [KEY_LABEL]: null } } }
  const reapply = (now: { readonly metadata: KubeObject['metadata'] }) =>
    now.metadata.labels?.[KEY_LABEL] === undefined ? ('done' as const) : patch
  return { verb: 'patch', watched, namespace, name, version: resourceVersion, patch, reapply }
}

async function write(deps: LandscaperDeps, writer: Writer, writes: readonly Write[]): Promise<void> {
  for (const answer of await writeAll(deps, writer, writes)) if (answer.result === 'failed') throw answer.error
}
