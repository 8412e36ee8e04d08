// Writes and observations of controllers in level mode on real servers: the ways of docs/reference/writes.md and
// docs/reference/queries.md, and cluster-scoped kinds.

import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it, vi } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { CONFIG_MAPS as MAPS, objectsOf, type Resource, WAIT as PATIENT } from '../support/level/objects.ts'
import { parcelKind, rackKind, SHARED } from '../support/level/parcel.ts'
import { useStage } from '../support/pawl/stage.ts'

const SECRETS = { apiVersion: 'v1', plural: 'secrets' }

const stage = useStage('level-writes', () => {
  const controllers = new URL('../support/level/parcel.ts', import.meta.url).pathname
  return Promise.resolve({ controllers })
})

const { get, install, list, patch, request, ...objects } = objectsOf(stage)
const create = async (name: string, spec: object) => await objects.create(parcelKind, name, spec)

beforeAll(async () => {
  await stage.cluster.kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: SHARED } } })
  for (const kind of [parcelKind, { ...rackKind, scope: 'Cluster' as const }]) await install(kind)
})

describe('a parcel', () => {
  it('has children without null fields, with the declared owners, and with an Event', async () => {
    const { metadata } = await create('plain', { text: 'hello' })
    await vi.waitFor(async () => {
      expect((await get(parcelKind, 'plain'))?.['status']).toMatchObject({ text: 'hello', saved: 'hello' })
    }, PATIENT)
    await settled('plain')
    const [box, note, once, marked] = await Promise.all(
      ['plain', 'plain-note', 'plain-once', 'plain-marked'].map(async (name) => await get(MAPS, name)),
    )
    expect(box?.['data']).toEqual({ text: 'hello' })
    expect(box?.metadata.ownerReferences).toMatchObject([{ kind: 'Parcel', uid: metadata.uid, controller: true }])
    expect(note?.metadata).not.toHaveProperty('ownerReferences')
    expect(once?.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid }])
    expect(marked?.metadata).toMatchObject({
      labels: { 'pawl.dev/owner-uid': metadata.uid },
      annotations: { 'pawl.dev/made-for': 'Parcel.writes.test.pawl.dev/level-writes/plain' },
      finalizers: ['writes.test.pawl.dev/held'],
    })
    const events = await list({ apiVersion: 'v1', plural: 'events' })
    const told = events.filter(
      ({ reason, involvedObject }) => reason === 'Packed' && nameIn(involvedObject) === 'plain',
    )
    expect(told).toMatchObject([
      { type: 'Normal', message: 'the parcel says hello', source: { component: 'pawl-parcel' } },
    ])
  })

  it('shares the list of conditions with another controller of its kind', async () => {
    await vi.waitFor(
      async () => expect(await conditions('plain')).toEqual({ Ready: 'hello', Inspected: 'seen' }),
      PATIENT,
    )
    await patch(parcelKind, 'plain', { spec: { text: 'again' } })
    await vi.waitFor(
      async () => expect(await conditions('plain')).toEqual({ Ready: 'again', Inspected: 'seen' }),
      PATIENT,
    )
    await until(MAPS, 'plain', { text: 'again' })
    await until(MAPS, 'plain-note', { text: 'again' })
    // Created once.
    await until(MAPS, 'plain-once', { text: 'hello' })
  })

  it('is woken by its children without a query, by owner reference and by label', async () => {
    await settled('plain')
    await patch(MAPS, 'plain', { data: { text: 'edited' } })
    await until(MAPS, 'plain', { text: 'again' })
    await patch(MAPS, 'plain-marked', { data: { text: 'edited' } })
    await until(MAPS, 'plain-marked', { text: 'again' })
  })

  it('does not touch an object created by hand until it is deleted or may be adopted', async () => {
    for (const name of ['taken', 'adopted'])
      await request('POST', MAPS, undefined, { metadata: { name }, data: { text: 'mine' } })
    const taken = await create('taken', { text: 'ours' })
    await vi.waitFor(async () => expect(await lastError(taken)).toMatchObject({ reason: 'NotOwned' }), PATIENT)
    await until(MAPS, 'taken', { text: 'mine' })
    await request('DELETE', MAPS, 'taken')
    await until(MAPS, 'taken', { text: 'ours' })
    await create('adopted', { text: 'ours', adopt: true })
    await until(MAPS, 'adopted', { text: 'ours' })
    expect((await get(MAPS, 'adopted'))?.metadata.ownerReferences).toMatchObject([{ kind: 'Parcel' }])
  })

  it('creates a Secret from another one and follows its changes; the value is in no history', async () => {
    const parcel = await create('secretive', { text: 'x', secret: 'db' })
    await vi.waitFor(async () => expect(await lastError(parcel)).toMatchObject({ reason: 'SecretNotFound' }), PATIENT)
    await request('POST', SECRETS, undefined, { metadata: { name: 'db' }, stringData: { password: 'canary-1' } })
    const url = (password: string) => ({ url: Buffer.from(`postgres://app:${password}@db`).toString('base64') })
    await until(SECRETS, 'secretive-url', url('canary-1'))
    // The error of the activity contains the value.
    await patch(SECRETS, 'db', { stringData: { password: 'canary-wrong' } })
    await vi.waitFor(async () => expect(await lastError(parcel)).toMatchObject({ reason: 'ActivityFailed' }), PATIENT)
    expect(await lastError(parcel)).toMatchObject({ message: 'fingerprint: what is the hash of ***?' })
    await patch(SECRETS, 'db', { stringData: { password: 'canary-2' } })
    await until(SECRETS, 'secretive-url', url('canary-2'))
    await settled('secretive')
    const fingerprint = createHash('sha256').update('canary-2').digest('hex')
    expect((await get(parcelKind, 'secretive'))?.['status']).toMatchObject({ fingerprint })
    const { workflow_id } = await job(parcel)
    const run = stage.pawl.client.workflow.getHandle(workflow_id)
    // The history has the result of a task only after the task ended, which is after the row was closed.
    await run.result()
    const texts = textsOf(await run.fetchHistory())
    expect(texts).toContain('"password"')
    expect(texts).not.toMatch(/canary|Y2FuYXJ5/)
  })

  it('deletes its children in other namespaces when it is deleted, except for those that stay', async () => {
    await create('leaving', { text: 'x', shared: true })
    await vi.waitFor(async () => expect(await get(MAPS, 'leaving', SHARED)).toBeDefined(), PATIENT)
    await settled('leaving')
    await request('DELETE', parcelKind, 'leaving')
    await vi.waitFor(async () => expect(await get(parcelKind, 'leaving')).toBeUndefined(), PATIENT)
    expect(await get(MAPS, 'leaving', SHARED)).toBeUndefined()
    expect(await get(MAPS, 'leaving-marked')).toBeUndefined()
    expect((await get(MAPS, 'leaving-note'))?.['data']).toEqual({ text: 'x' })
  })
})

describe('a rack (cluster-scoped)', () => {
  it('creates children, follows them, records Events, has a status, and can be deleted', async () => {
    const { kube, namespace } = stage.cluster
    const racks = resourcePath(rackKind, undefined)
    const { apiVersion, kind } = rackKind
    const spec = { namespace, text: 'full' }
    const rack = await kube.request<KubeObject>('POST', racks, {
      body: { apiVersion, kind, metadata: { name: 'r' }, spec },
    })
    const look = async () => await kube.request<KubeObject>('GET', `${racks}/r`)
    await vi.waitFor(async () => expect((await look())['status']).toEqual({ text: 'full' }), PATIENT)
    expect((await get(MAPS, 'r'))?.metadata.ownerReferences).toMatchObject([{ kind: 'Rack', uid: rack.metadata.uid }])
    expect((await look()).metadata.finalizers).toEqual(['writes.test.pawl.dev/rack'])
    await patch(MAPS, 'r', { data: { text: 'edited' } })
    await until(MAPS, 'r', { text: 'full' })
    const events = await list({ apiVersion: 'v1', plural: 'events' }, 'default')
    expect(events.filter(({ reason }) => reason === 'Filled')).toMatchObject([
      { involvedObject: { kind: 'Rack', name: 'r' } },
    ])
    expect((await job(rack)).workflow_id).toBe(`rack/r/${rack.metadata.uid ?? ''}`)
    await kube.request('DELETE', `${racks}/r`)
    await vi.waitFor(async () => await expect(look()).rejects.toMatchObject({ status: 404 }), PATIENT)
  })
})

async function until(resource: Resource, name: string, data: object): Promise<void> {
  await vi.waitFor(async () => expect((await get(resource, name))?.['data']).toEqual(data), PATIENT)
}

/** Waits until the runs of a parcel have ended. */
async function settled(name: string): Promise<void> {
  const { uid = '' } = (await get(parcelKind, name))?.metadata ?? {}
  await vi.waitFor(async () => {
    const jobs = await stage.pawl.db.selectFrom('job').select('outcome').where('uid', '=', uid).execute()
    expect(jobs.map(({ outcome }) => outcome)).toEqual(['Converged', 'Converged'])
  }, PATIENT)
}

async function conditions(name: string): Promise<Readonly<Record<string, string>>> {
  const status = (await get(parcelKind, name))?.['status'] as
    { readonly conditions?: readonly { readonly type: string; readonly message: string }[] } | undefined
  return Object.fromEntries((status?.conditions ?? []).map(({ type, message }) => [type, message]))
}

async function job({ metadata: { uid = '' } }: KubeObject) {
  const rows = stage.pawl.db.selectFrom('job').selectAll().where('uid', '=', uid).where('controller', '<>', 'inspector')
  return await rows.executeTakeFirstOrThrow()
}

async function lastError(object: KubeObject): Promise<unknown> {
  return (await job(object)).last_error
}

function nameIn(reference: unknown): unknown {
  return (reference as { readonly name?: unknown } | undefined)?.name
}

/** The payloads of a history. */
function textsOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  if (typeof value !== 'object' || value === null) return ''
  return Object.values(value).map(textsOf).join('\n')
}
