// Writes the exports of items: one Secret per item, owned by the item. Source: spec/landscaper.md 1.15, 4.5, 4.8; names are deterministic
// (docs/concepts/architecture.md "Created names").

import { ownerOfKind, writeJson } from '../../../../workflows/kit/index.ts'
import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { LandscaperDeps } from '../../deps.ts'
import type { KubeObject } from '../../../kube/client.ts'
import { isFinal, isNamespaceTerminating, KubeError } from '../../../kube/errors.ts'
import { isOnlyOwnedBy, isOwnedBy, ownerReference } from '../../../kube/owners.ts'
import { readObject } from '../../../kube/read-family.ts'
import { entriesOf, secretResource } from '../../../kube/core-kinds.ts'
import { ownerOf } from '../../../kube/object-views.ts'
import { type Write, type WriteAnswer, type Writer, writeAll } from '../../../kube/write.ts'
import type { Deployer } from './deployer.ts'

export interface ItemExport {
  /** The item that exports. */
  readonly object: DeployItem
  /** Name of the Secret. */
  readonly name: string
  readonly content: Readonly<Record<string, unknown>>
}

/** The name of an item's Secret. Source: spec/landscaper.md 1.15. */
export function exportName(deployer: Pick<Deployer, 'exportName'>, item: DeployItem): string {
  return deployer.exportName?.(item) ?? `${item.metadata.name}-export`
}

/** The failure of one item's export. */
export interface ExportFailure {
  readonly code: string
  readonly message: string
  readonly isFinal: boolean
}

/** Writes the export Secrets that differ, one write each. @returns the failures by the items' uids: a failure delays no sibling. */
export async function writeExports(
  deps: LandscaperDeps,
  writer: Writer,
  exports: readonly ItemExport[],
): Promise<ReadonlyMap<string, ExportFailure>> {
  const failures = new Map<string, ExportFailure>()
  const planned = await Promise.all(exports.map((one) => planExport(deps, one)))
  const acting = planned.flatMap(({ uid, failure, write }) => {
    if (failure !== undefined) failures.set(uid, failure)
    return write === undefined ? [] : [{ uid, write }]
  })
  const writes = acting.map(({ write }) => write)
  const answers = await writeAll(deps, writer, writes)
  answers.forEach((answer, index) => {
    const failure = failureOf(answer)
    if (failure !== undefined) failures.set(acting[index]?.uid ?? '', failure)
  })
  return failures
}

async function planExport(deps: LandscaperDeps, one: ItemExport) {
  const { uid } = one.object.metadata
  try {
    const planned = await exportWrite(deps, one)
    return planned !== undefined && 'code' in planned
      ? { uid, failure: planned, write: undefined }
      : { uid, failure: undefined, write: planned }
  } catch (error) {
    if (error instanceof KubeError) return { uid, failure: rejectedExport(error), write: undefined }
    throw error
  }
}

function failureOf(answer: WriteAnswer): ExportFailure | undefined {
  if (answer.result === 'failed') return rejectedExport(answer.error)
  if (answer.result !== 'superseded') return undefined
  // The next attempt finds the newer content: a job that has ended writes nothing more.
  const { name, namespace = '' } = answer.object.metadata
  return { code: 'Changed', message: `Secret "${namespace}/${name}" changed while Pawl wrote it`, isFinal: false }
}

function rejectedExport(error: KubeError): ExportFailure {
  return { code: error.reason, message: error.message, isFinal: isFinal(error) || isNamespaceTerminating(error) }
}

async function exportWrite(
  deps: LandscaperDeps,
  { object, name, content }: ItemExport,
): Promise<Write | ExportFailure | undefined> {
  const owner = object.metadata
  const { namespace } = owner
  const data = { config: Buffer.from(writeJson(content)).toString('base64') }
  const target = { watched: secretResource, namespace, name }
  const existing = await readObject(deps, secretResource, namespace, target.name)
  if (existing === undefined)
    return {
      verb: 'create',
      ...target,
      body: newSecret(object, target.name, data),
      isOurs: (found) => isOwnedBy(found, deployItemKind, owner),
    }
  if (!isOnlyOwnedBy(existing, deployItemKind, owner)) return nameTaken(existing, object)
  const isOurs = isOwnedBy(existing, deployItemKind, owner)
  if (isOurs && entriesOf(existing)?.['config'] === data.config) return undefined
  return {
    verb: 'patch',
    ...target,
    version: existing.metadata.resourceVersion ?? '',
    patch: { data, ...(!isOurs && { metadata: { ownerReferences: [ownerReference(deployItemKind, owner)] } }) },
    reapply: () => 'superseded',
  }
}

// Never adopts another owner's Secret by its name: otherwise a user who may create deploy items could overwrite any Secret.
function nameTaken({ metadata }: KubeObject, { metadata: { name: item } }: DeployItem): ExportFailure {
  const secret = `Secret "${metadata.namespace ?? ''}/${metadata.name}"`
  const owner = ownerOf({ metadata })
  if (ownerOfKind({ metadata }, deployItemKind)?.name === item) {
    const message = `${secret} belongs to a deleted item of the same name; Pawl writes it after its deletion`
    return { code: 'BeingDeleted', message, isFinal: false }
  }
  const found = owner === undefined ? 'nobody' : `${owner.kind} ${owner.name}`
  const message = `${secret} exists and belongs to ${found}; expected none, or one of deploy item "${item}"`
  return { code: 'NameTaken', message, isFinal: true }
}

function newSecret({ metadata }: DeployItem, name: string, data: { config: string }): KubeObject {
  const { namespace, uid } = metadata
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, ownerReferences: [ownerReference(deployItemKind, { name: metadata.name, uid })] },
    type: 'Opaque',
    data,
  }
}
