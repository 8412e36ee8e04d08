// Answers from an older state of the cluster.
//
//   O1. A real API server may answer a LIST with the oldest state that the request allows.
//   O2. It must not answer a GET with an older state. This has happened (etcd #15271, #17247).

import type { KubeObject } from '../../../activities/kube/client.ts'
import { versionOf } from '../../../activities/kube/object-cache.ts'
import type { VersionWatch } from '../cluster/version-watch.ts'
import type { Answer, ReadRequest } from './http-messages.ts'

/** O1. @param onStale called for each answer that differs from the store. */
export function asOldAsAllowed(watch: VersionWatch, onStale: () => void) {
  return async (read: ReadRequest): Promise<Answer | undefined> => {
    const version = Number(read.query.get('resourceVersion') ?? 0)
    if (read.isWatch || read.name !== undefined || version === 0 || !watch.follows(read.plural)) return undefined
    await watch.upToDate()
    const answer = listAt(watch, read, version)
    if (JSON.stringify(answer) !== JSON.stringify(listAt(watch, read, Infinity))) onStale()
    return { status: 200, body: inList(answer, version) }
  }
}

/** O2. @param isFrozen called for each read. */
export function frozenAt(watch: VersionWatch, version: number, isFrozen: () => boolean) {
  if (!Number.isInteger(version)) throw new Error(`the version to freeze at is ${version}, expected a number`)
  return async (read: ReadRequest): Promise<Answer | undefined> => {
    if (read.isWatch || !watch.follows(read.plural) || !isFrozen()) return undefined
    await watch.upToDate()
    const { name, query } = read
    if (Number(query.get('resourceVersion') ?? 0) > version) return TOO_LARGE
    const found = listAt(watch, read, version)
    if (name === undefined) return { status: 200, body: inList(found, version) }
    const [object] = found.filter(({ metadata }) => metadata.name === name)
    if (object !== undefined) return { status: 200, body: object }
    return { status: 404, reason: 'NotFound' }
  }
}

const TOO_LARGE: Answer = {
  status: 504,
  retryAfterSeconds: 1,
  reason: 'Timeout',
  more: { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
}

function listAt(watch: VersionWatch, { plural, query }: ReadRequest, version: number): readonly KubeObject[] {
  const wanted = (query.get('labelSelector') ?? '').split(',').filter((part) => part !== '')
  const isSelected = ({ metadata: { labels = {} } }: KubeObject) =>
    wanted.every((part) => {
      const [key = '', value, ...rest] = part.split('=')
      if (value === undefined || rest.length > 0) throw new Error(`this label selector is not known here: ${part}`)
      return labels[key] === value
    })
  return watch.asOf(version).filter((object) => pluralOf(object) === plural && isSelected(object))
}

function pluralOf({ kind = '' }: KubeObject): string {
  return `${kind.toLowerCase()}s`
}

function inList(items: readonly KubeObject[], version: number): object {
  const newest = Math.max(0, ...items.map(versionOf))
  const resourceVersion = String(Number.isFinite(version) ? version : newest)
  return { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion }, items }
}
