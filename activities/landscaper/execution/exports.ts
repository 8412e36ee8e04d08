// Collects the exports of an Execution's items into one DataObject `{item: exports}`. Source: spec/landscaper.md 2.7 "Completing", 1.15.

import { dataObjectKind } from '../../../workflows/landscaper/data-object/kind.ts'
import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import { forNamespace } from '../tenant-call.ts'
import { reportFurtherDocuments } from '../further-documents.ts'
import type { LandscaperDeps } from '../deps.ts'
import { PARALLEL_READS, writeDataObjects } from '../data-objects.ts'
import { finalFailure } from '../../kube/errors.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { isOnlyOwnedBy, ownerReference } from '../../kube/owners.ts'
import { readObject } from '../../kube/read-family.ts'
import { entriesOf, secretResource } from '../../kube/core-kinds.ts'
import { type Writer, writeAll } from '../../kube/write.ts'
import { deleteChild } from '../../run/children.ts'
import { dataLabels, dataObjectName, executionContext } from '../render/names.ts'
import { YamlError } from '../../yaml/read-yaml.ts'
import type { DeployItemView } from '../deploy-item-view.ts'

export interface CollectInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** The items with exports. */
  readonly items: readonly Pick<DeployItemView, 'item' | 'exportRef'>[]
}

type ExportRef = Readonly<Record<'name' | 'namespace', string>>

export const exportActivities = (all: LandscaperDeps) => ({
  /**
   * Reads the export Secrets of the items and writes the Execution's DataObject; without items, deletes the DataObject of an earlier job.
   *
   * @returns the reference for `status.exportRef`; null without items.
   * @throws `ERR_CONFIGURATION_PROBLEM` (final) when a Secret is missing, unreadable or in another namespace.
   */
  async collectExports({ by, subject, jobID, items }: CollectInput): Promise<ExportRef | null> {
    const deps = forNamespace(all, subject.namespace, { subject, jobID })
    const { apiVersion } = executionKind
    const writer = { ...by, step: 'collectExports', fieldManager: 'pawl-execution' }
    const context = executionContext(subject.name)
    const name = dataObjectName(context, '')
    if (items.length === 0) {
      await deleteCollected(deps, writer, { subject, name })
      return null
    }
    const exports = await inParallel(items, PARALLEL_READS, async (item) => {
      return [item.item, await readExport(deps, subject, item)] as const
    })
    await reportFurtherDocuments(deps, { subject, apiVersion, jobID })
    const labels = dataLabels({ context, key: '', sourceType: 'export', source: context, jobID })
    await writeDataObjects(deps, writer, {
      watched: dataObjectKind,
      namespace: subject.namespace,
      owner: ownerReference(executionKind, subject),
      jobID,
      objects: [{ name, labels, content: { data: Object.fromEntries(exports) } }],
    })
    return { name, namespace: subject.namespace }
  },
})

// Landscaper writes an empty DataObject. In Pawl an Execution without exports has no DataObject, also after an earlier job with exports.
async function deleteCollected(
  deps: LandscaperDeps,
  writer: Writer,
  { subject, name }: { readonly subject: Subject; readonly name: string },
): Promise<void> {
  const { namespace } = subject
  const object = await readObject(deps, dataObjectKind, namespace, name)
  if (object === undefined || !isOnlyOwnedBy(object, executionKind, subject)) return
  const { uid, resourceVersion: version } = object.metadata
  const [answer] = await writeAll(deps, writer, [
    deleteChild({ watched: dataObjectKind, namespace, name, uid, version }),
  ])
  if (answer?.result === 'failed') throw answer.error
}

async function readExport(
  deps: LandscaperDeps,
  subject: Subject,
  { item, exportRef }: CollectInput['items'][number],
): Promise<unknown> {
  const name = exportRef?.name ?? ''
  const namespace = exportRef?.namespace ?? subject.namespace
  if (namespace !== subject.namespace) {
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `deploy item "${item}": status.exportRef.namespace: found "${namespace}"; expected "${subject.namespace}"`,
    )
  }
  const secret = await readObject(deps, secretResource, namespace, name)
  if (secret === undefined)
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `deploy item "${item}": status.exportRef: Secret "${namespace}/${name}" does not exist; reconcile to export again`,
    )
  const content = entriesOf(secret)?.['config']
  if (content === undefined)
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `deploy item "${item}": status.exportRef: Secret "${namespace}/${name}" has no key "config"; add it with a YAML map`,
    )
  return await parseExport(deps, content, `deploy item "${item}": key "config" of Secret "${namespace}/${name}"`)
}

async function parseExport(deps: LandscaperDeps, content: string, where: string): Promise<unknown> {
  const value = await valueIn(deps, content, where)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw finalFailure('ERR_CONFIGURATION_PROBLEM', `${where}: not a YAML map`)
}

async function valueIn(deps: LandscaperDeps, content: string, where: string): Promise<unknown> {
  try {
    return await deps.landscaper.templates.data.yaml(Buffer.from(content, 'base64').toString('utf8'), where)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    // The error's own message would quote the content.
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `${where}: not a YAML map: line ${error.line}, column ${error.column}: ${error.reason}`,
    )
  }
}
