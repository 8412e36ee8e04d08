// Exports of mock items: one Secret per item. Source: spec/landscaper.md 4.8; the name is deterministic (design.md "Created names").

import { createHash } from 'node:crypto'
import { deployItemKind } from '../../workflows/deploy-item/kind.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import { finalFailure } from '../kube/errors.ts'
import { readObject } from '../kube/observe.ts'
import { secretResource } from '../kube/secrets.ts'
import { type Write, type Writer, writeAll } from '../kube/write.ts'

export interface MockExport {
  readonly object: KubeObject
  readonly content: Readonly<Record<string, unknown>>
}

export function exportName({ metadata }: KubeObject): string {
  return `mock-export-${createHash('sha256')
    .update(metadata.uid ?? '')
    .digest('hex')
    .slice(0, 10)}`
}

/** Writes the export Secrets that differ, one write each. @throws KubeError when a write fails. */
export async function writeExports(deps: Deps, writer: Writer, exports: readonly MockExport[]): Promise<void> {
  const writes = await Promise.all(exports.map((one) => exportWrite(deps, one)))
  for (const answer of await writeAll(deps, writer, writes.flat())) {
    if (answer.result === 'failed') throw answer.error
    // Whose content is newer shows when the item is looked at again: a job that is over writes nothing more.
    if (answer.result === 'superseded') {
      const { name, namespace = '' } = answer.object.metadata
      throw finalFailure('Changed', `secret ${namespace}/${name} was changed while it was written`)
    }
  }
}

async function exportWrite(deps: Deps, { object, content }: MockExport): Promise<Write[]> {
  const { namespace = '', uid = '' } = object.metadata
  const data = { config: Buffer.from(JSON.stringify(content)).toString('base64') }
  const target = { watched: secretResource, namespace, name: exportName(object) }
  const existing = await readObject(deps, secretResource, namespace, target.name)
  if (existing === undefined) return [{ verb: 'create', ...target, body: newSecret(object, target.name, data), isOurs: (found) => isOwnedBy(found, uid) }]
  if ((existing['data'] as { config?: string } | undefined)?.config === data.config) return []
  return [
    { verb: 'patch', ...target, version: existing.metadata.resourceVersion ?? '', patch: { data }, reapply: () => 'superseded' },
  ]
}

function newSecret({ metadata }: KubeObject, name: string, data: { config: string }): KubeObject {
  const { namespace = '', uid = '' } = metadata
  const { apiVersion, kind } = deployItemKind
  const owner = { apiVersion, kind, name: metadata.name, uid, controller: true, blockOwnerDeletion: true }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, ownerReferences: [owner] }, type: 'Opaque', data }
}

function isOwnedBy(found: KubeObject, uid: string): boolean {
  return found.metadata.ownerReferences?.some((one) => one.uid === uid) ?? false
}
