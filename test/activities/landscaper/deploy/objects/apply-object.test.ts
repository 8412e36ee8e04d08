// Tests the requests of applyObject to servers that change or reject the manifest. test/env/manifest-drift.test.ts does
// the same with real servers.

import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../../../activities/kube/client.ts'
import { KubeError } from '../../../../../activities/kube/errors.ts'
import { OWNERSHIP_LABELS } from '../../../../../activities/landscaper/deploy/manifest/ownership-labels.ts'
import { applyObject } from '../../../../../activities/landscaper/deploy/objects/apply-object.ts'
import { creation } from '../../../../../activities/landscaper/deploy/objects/changes.ts'
import { configMap, manifest } from '../manifest/manifests.ts'

const marks = { ownership: OWNERSHIP_LABELS, item: 'item', strategy: 'update' as const }
const served = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }
const signal = new AbortController().signal

interface Sent {
  readonly method: string
  readonly dryRun: boolean
  readonly body: KubeObject
}

/** Applies `sent` to an object that was created from it and now has `data` on the server. @returns the writes. */
async function applied(
  { sent, data, others = {} }: { sent: object; data: object; others?: object },
  answer: (sent: Sent) => object,
): Promise<readonly Sent[]> {
  const wanted = manifest(configMap('a', sent as Record<string, unknown>))
  const created = creation(wanted, marks) as unknown as KubeObject
  const managedFields = [{ manager: 'someone', operation: 'Update', fieldsV1: { 'f:data': others } }]
  const live = { ...created, data, metadata: { ...created.metadata, uid: 'u', resourceVersion: '5', managedFields } }
  const requests: Sent[] = []
  const request = (method: string, _: string, options: { body?: unknown; query?: Record<string, string> } = {}) => {
    if (method === 'GET') return Promise.resolve(live)
    const one = { method, dryRun: options.query?.['dryRun'] === 'All', body: options.body as KubeObject }
    requests.push(one)
    return Promise.resolve({ ...one.body, ...answer(one) })
  }
  const kube = { request } as never
  await applyObject({ kube, served, manifest: wanted, marks, own: new Set(), signal, isFinished: false })
  return requests
}

const refusal = (status: number) => {
  throw new KubeError('no', { status, reason: 'R' })
}

describe('an object that differs from the manifest that was sent', () => {
  it('is not written if admission stores the manifest in the same way again', async () => {
    const mutated = { a: 'as the webhook wants it' }
    const requests = await applied({ sent: { a: '1' }, data: mutated }, () => ({ data: mutated }))
    expect(requests.map(({ dryRun }) => dryRun)).toEqual([true])
  })

  it('is written if the server would store the manifest differently', async () => {
    const requests = await applied({ sent: { a: '1' }, data: { a: '2' } }, () => ({}))
    expect(requests.map(({ dryRun }) => dryRun)).toEqual([true, false])
    expect(requests[1]?.body['data']).toEqual({ a: '1' })
  })

  it('is written if a webhook does not support dry runs', async () => {
    const requests = await applied({ sent: { a: '' }, data: {} }, ({ dryRun }) => (dryRun ? refusal(400) : {}))
    expect(requests.map(({ dryRun }) => dryRun)).toEqual([true, false])
  })

  it('is written without the fields of others if the server rejects them', async () => {
    const state = { sent: { a: '1' }, data: { a: '2', b: 'theirs' }, others: { 'f:b': {} } }
    const requests = await applied(state, ({ body }) => ('b' in (body['data'] as object) ? refusal(422) : {}))
    expect(requests.map(({ body, dryRun }) => [dryRun, body['data']])).toEqual([
      [true, { a: '1', b: 'theirs' }],
      [false, { a: '1', b: 'theirs' }],
      [false, { a: '1' }],
    ])
  })

  it('is reported if the server rejects it for another reason', async () => {
    await expect(applied({ sent: { a: '1' }, data: { a: '2' } }, () => refusal(403))).rejects.toThrow('no')
  })
})
