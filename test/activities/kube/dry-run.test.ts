import { describe, expect, it } from 'vitest'

import type { KubeClient, KubeObject, Method, RequestOptions } from '../../../activities/kube/client.ts'
import { dryRun } from '../../../activities/kube/dry-run.ts'
import { applyMergePatch } from '../../../activities/kube/merge-patch.ts'
import { KubeError } from '../../../activities/kube/errors.ts'

const ITEMS = '/api/v1/namespaces/n/items'
const item = (name: string, more: object = {}) => ({
  kind: 'Item',
  metadata: { name, uid: `uid-${name}`, resourceVersion: '7', labels: { tier: 'a' } },
  ...more,
})

/** A server with one item that answers all requests and records the writes. */
function server() {
  const sent: { readonly method: Method; readonly path: string; readonly options: RequestOptions }[] = []
  const request = (method: Method, path: string, options: RequestOptions = {}): Promise<unknown> => {
    if (method !== 'GET') sent.push({ method, path, options })
    const body = options.body as KubeObject
    if (method === 'POST') return Promise.resolve({ ...body, metadata: { uid: 'made', ...body.metadata } })
    if (path === ITEMS) return Promise.resolve({ metadata: { resourceVersion: '7' }, items: [item('a')] })
    if (path !== `${ITEMS}/a`) return Promise.reject(new KubeError('none', { status: 404, reason: 'NotFound' }))
    return Promise.resolve(method === 'PATCH' ? applyMergePatch(item('a'), body) : item('a'))
  }
  const kube = { connection: { server: '', isInsecure: false }, request, close: () => Promise.resolve() }
  return { sent, room: dryRun(kube as unknown as KubeClient) }
}

const names = async ({ client }: ReturnType<typeof dryRun>, labelSelector = '') => {
  const { items } = await client.request<{ items: KubeObject[] }>('GET', ITEMS, { query: { labelSelector } })
  return items.map(({ metadata }) => metadata.name)
}

describe('a dry-run client', () => {
  it('sends every write with dryRun, a deletion also in its body', async () => {
    const { sent, room } = server()
    await room.client.request('POST', ITEMS, { body: item('b') })
    await room.client.request('PATCH', `${ITEMS}/b`, { body: { size: 1 } })
    await room.client.request('PATCH', `${ITEMS}/a`, { body: { size: 1 }, query: { fieldManager: 'me' } })
    await room.client.request('DELETE', `${ITEMS}/a`, {
      body: { kind: 'DeleteOptions', preconditions: { uid: 'uid-a' } },
    })
    expect(sent.map(({ method, options }) => `${method} ${options.query?.['dryRun'] ?? 'written'}`)).toEqual([
      ...['POST All', 'POST All', 'PATCH All', 'DELETE All'],
    ])
    // The API server ignores the query of a DELETE request that has a body.
    expect(sent.at(-1)?.options.body).toMatchObject({ dryRun: ['All'], preconditions: { uid: 'uid-a' } })
  })

  it('does not send writes in a Namespace that exists only in the preview', async () => {
    const { sent, room } = server()
    await room.client.request('POST', '/api/v1/namespaces', { body: { kind: 'Namespace', metadata: { name: 'new' } } })
    const path = '/api/v1/namespaces/new/items'
    const [created, applied] = ['b', 'c'].map((name) => ({ kind: 'Item', metadata: { name } }))
    expect(await room.client.request('POST', path, { body: created })).toMatchObject({
      metadata: { name: 'b', namespace: 'new', uid: expect.any(String) as string },
    })
    const apply = { body: applied, contentType: 'application/apply-patch+yaml' as const }
    await room.client.request('PATCH', `${path}/c`, apply)
    await room.client.request('PATCH', `${path}/c`, { body: { size: 1 } })
    expect(await room.client.request('GET', `${path}/c`)).toMatchObject({ size: 1 })
    expect(sent.map(({ path }) => path)).toEqual(['/api/v1/namespaces'])
    expect(room.unvalidated()).toEqual(['new'])
    expect(room.writes().map(({ after }) => after?.metadata.name)).toEqual(['new', 'b', 'c'])
  })

  it('shows the results of writes to later reads', async () => {
    const { room } = server()
    await room.client.request('POST', ITEMS, { body: item('b') })
    await room.client.request('PATCH', `${ITEMS}/b`, { body: { metadata: { labels: { tier: 'b' } } } })
    expect([await names(room), await names(room, 'tier=b'), await names(room, 'tier=c')]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
      ['a'],
    ])
    await expect(room.client.request('POST', ITEMS, { body: item('b') })).rejects.toMatchObject({
      reason: 'AlreadyExists',
    })
    await room.client.request('DELETE', `${ITEMS}/a`)
    expect(await names(room)).toEqual(['b'])
    await expect(room.client.request('GET', `${ITEMS}/a`)).rejects.toMatchObject({ status: 404 })
    await room.pretend(`${ITEMS}/b`, { status: { phase: 'Succeeded' } })
    expect(await room.client.request('GET', `${ITEMS}/b`)).toMatchObject({ status: { phase: 'Succeeded' } })
    expect(room.writes()).toMatchObject([
      { before: undefined, after: { metadata: { name: 'b' } } },
      { before: { metadata: { name: 'a' } }, after: undefined },
    ])
  })

  it('requests no token, and knows the ServiceAccounts of the preview', async () => {
    const { sent, room } = server()
    const accounts = '/api/v1/namespaces/n/serviceaccounts'
    await room.client.request('POST', accounts, { body: { kind: 'ServiceAccount', metadata: { name: 'a' } } })
    const token = async (name: string) => await room.client.request('POST', `${accounts}/${name}/token`, { body: {} })
    await expect(token('a')).rejects.toMatchObject({
      status: 0,
      message: 'ServiceAccount "n/a": a dry run gets no token',
    })
    await expect(token('b')).rejects.toMatchObject({ status: 404 })
    expect(sent.map(({ path }) => path)).toEqual([accounts])
  })

  it('keeps a deleted object with a finalizer, with a deletionTimestamp', async () => {
    const { room } = server()
    await room.client.request('POST', ITEMS, { body: item('b', { metadata: { name: 'b', finalizers: ['x'] } }) })
    await room.client.request('DELETE', `${ITEMS}/b`)
    expect(await room.client.request('GET', `${ITEMS}/b`)).toMatchObject({
      metadata: { deletionTimestamp: expect.any(String) as string },
    })
  })
})
