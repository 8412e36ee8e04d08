// What the items of an Execution export, collected into one DataObject `{item: exports}`. Source: spec/landscaper.md 2.7 "Completing", 1.15.

import { dataObjectKind } from '../../../workflows/landscaper/data-object/kind.ts'
import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import { parse } from 'yaml'
import type { LandscaperDeps } from '../deps.ts'
import { writeDataObjects } from '../data-objects.ts'
import { finalFailure } from '../../kube/errors.ts'
import { ownerReference } from '../../kube/owners.ts'
import { readObject } from '../../kube/read-family.ts'
import { entriesOf, secretResource } from '../../kube/secrets.ts'
import { dataLabels, dataObjectName, executionContext } from '../render/names.ts'
import type { DeployItemView } from '../deploy-item-view.ts'

export interface CollectInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly items: readonly Pick<DeployItemView, 'item' | 'exportRef'>[]
}

export const exportActivities = (deps: LandscaperDeps) => ({
  /**
   * Reads the export Secrets of the items and writes the Execution's DataObject.
   *
   * @returns the reference for `status.exportRef`.
   * @throws `ERR_CONFIGURATION_PROBLEM` (final) when a Secret is missing, unreadable or in another namespace.
   */
  async collectExports({ by, subject, jobID, items }: CollectInput): Promise<{ name: string; namespace: string }> {
    const exports = await Promise.all(
      items.map(async (item) => [item.item, await readExport(deps, subject, item)] as const),
    )
    const owner = ownerReference(executionKind, subject)
    const context = executionContext(subject.name)
    const name = dataObjectName(context, '')
    const labels = dataLabels({ context, key: '', sourceType: 'export', source: context, jobID })
    await writeDataObjects(
      deps,
      { ...by, step: 'collectExports', fieldManager: 'pawl-execution' },
      {
        watched: dataObjectKind,
        namespace: subject.namespace,
        owner,
        jobID,
        objects: [{ name, labels, content: { data: Object.fromEntries(exports) } }],
      },
    )
    return { name, namespace: subject.namespace }
  },
})

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
      `deploy item ${item}: status.exportRef names namespace ${namespace}; expected ${subject.namespace}, references never leave it`,
    )
  }
  const secret = await readObject(deps, secretResource, namespace, name)
  if (secret === undefined)
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `deploy item ${item}: status.exportRef names secret ${namespace}/${name}; there is none`,
    )
  const content = entriesOf(secret)?.['config']
  if (content === undefined)
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `deploy item ${item}: secret ${namespace}/${name} has no key config; expected a YAML map`,
    )
  const value = parseExport(content)
  if (value === undefined) {
    // The parser's own message would quote the content.
    throw finalFailure(
      'ERR_CONFIGURATION_PROBLEM',
      `deploy item ${item}: key config of secret ${namespace}/${name} is not a YAML map`,
    )
  }
  return value
}

function parseExport(content: string): unknown {
  try {
    // Its warnings go to the log otherwise, and quote the content.
    const options = { maxAliasCount: 100, logLevel: 'error' } as const
    const value: unknown = parse(Buffer.from(content, 'base64').toString('utf8'), options)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
