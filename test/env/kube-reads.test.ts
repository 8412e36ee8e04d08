// Reads of a run: it uses the object in memory unless the journal knows a newer version; then it reads from the API
// server.

import { FINALIZER, MANAGED_BY_LABEL } from '../../workflows/landscaper/contract.ts'
import { beforeEach, describe, expect, inject, it } from 'vitest'
import type { Deps } from '../../activities/deps.ts'
import { acquireLease, writeCheckpoint } from '../../activities/journal/write/checkpoints.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { ownerReference } from '../../activities/kube/owners.ts'
import { readFamily, readSubject, withNamedChildren } from '../../activities/kube/read-family.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { refusal, type Request, type TinyApi } from '../activities/kube/tiny-api.ts'

const stage = useWriteStage(inject('servers').databaseUrl)
let api: TinyApi
let deps: Deps

const ROOT = '/apis/landscaper.gardener.cloud/v1alpha1/namespaces/n'
const SUBJECT = { namespace: 'n', name: 'exec', uid: 'uid-exec' }
const CHILDREN = {
  watched: deployItemKind,
  by: { labelSelector: `${MANAGED_BY_LABEL}=exec` },
}
const OWNER = ownerReference(executionKind, { name: 'exec', uid: 'uid-exec' })

beforeEach(async () => {
  api = stage().api
  deps = stage().deps
  api.intercept = ({ method, path }) => {
    if (method !== 'GET' || path !== `${ROOT}/deployitems`) return undefined
    return { status: 200, body: { metadata: { resourceVersion: '1' }, items: listed() } }
  }
  await deps.db.deleteFrom('watch_checkpoint').execute()
})

const listed = (): readonly KubeObject[] => [...api.objects.values()].filter(({ kind }) => kind === 'DeployItem')
const reads = () => api.requests.filter((request) => request.startsWith('GET')).map((request) => request.slice(4))

function put(kind: 'Execution' | 'DeployItem', name: string): KubeObject {
  const plural = kind === 'Execution' ? 'executions' : 'deployitems'
  const owner = kind === 'DeployItem' ? { ownerReferences: [OWNER], labels: { [MANAGED_BY_LABEL]: 'exec' } } : {}
  const metadata = { name, namespace: 'n', uid: `uid-${name}`, generation: 1, finalizers: [FINALIZER], ...owner }
  return api.put(`${ROOT}/${plural}/${name}`, { apiVersion: executionKind.apiVersion, kind, metadata, spec: {} })
}

async function journal(...objects: readonly KubeObject[]): Promise<void> {
  const events = objects.map((object) => ({
    type: 'MODIFIED' as const,
    object,
    watched: object.kind === 'Execution' ? executionKind : deployItemKind,
  }))
  await journalEvents(deps.db, { cluster: 'local', source: 'watch', events }, deps)
}

/** Writes a checkpoint, so that the journal counts as having listed the kind. */
async function listKind(kind: string): Promise<void> {
  const lease = { cluster: 'local', group: executionKind.group, kind, owner: 'test', leaseMs: 60_000 }
  await acquireLease(deps.db, lease)
  const checkpoint = { group: executionKind.group, kind, resourceVersion: 1, epoch: 0, leaseOwner: 'test' }
  await deps.db.transaction().execute(async (trx) => {
    await writeCheckpoint(trx, 'local', checkpoint, deps.now())
  })
}

describe('a subject', () => {
  it('is read once, and again when the journal knows a newer version of it', async () => {
    await journal(put('Execution', 'exec'))
    await readSubject(deps, executionKind, SUBJECT)
    await readSubject(deps, executionKind, SUBJECT)
    expect(reads()).toEqual(['executions/exec'])
    const newer = put('Execution', 'exec')
    await journal(newer)
    expect(await readSubject(deps, executionKind, SUBJECT)).toEqual(newer)
    expect(reads()).toHaveLength(2)
  })

  it('is read every time until the journal knows it', async () => {
    put('Execution', 'exec')
    await readSubject(deps, executionKind, SUBJECT)
    await readSubject(deps, executionKind, SUBJECT)
    expect(reads()).toHaveLength(2)
  })

  it('is not confused with a later object of the same name', async () => {
    const other = put('Execution', 'exec')
    api.put(`${ROOT}/executions/exec`, { ...other, metadata: { ...other.metadata, uid: 'uid-other' } })
    expect(await readSubject(deps, executionKind, SUBJECT)).toBeUndefined()
  })
})

describe('the children of a subject', () => {
  it('are read by LIST until the journal has seen a list of their kind', async () => {
    await journal(put('Execution', 'exec'), put('DeployItem', 'one'))
    const { children } = await readFamily(deps, executionKind, SUBJECT, CHILDREN)
    expect(children.map(({ metadata }) => metadata.name)).toEqual(['one'])
    expect(reads()).toContain('n/deployitems')
  })

  it('come from memory if none is newer, by GET if a few are newer, and by LIST if many are newer', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `item-${index}`)
    await listKind('DeployItem')
    await journal(put('Execution', 'exec'), ...names.map((name) => put('DeployItem', name)))
    await readFamily(deps, executionKind, SUBJECT, CHILDREN)
    expect(reads().sort()).toEqual(['executions/exec', 'n/deployitems'])
    api.requests.length = 0
    expect((await readFamily(deps, executionKind, SUBJECT, CHILDREN)).children).toHaveLength(8)
    expect(reads()).toEqual([])
    await journal(put('DeployItem', 'item-3'), put('DeployItem', 'item-4'))
    await readFamily(deps, executionKind, SUBJECT, CHILDREN)
    expect(reads().sort()).toEqual(['deployitems/item-3', 'deployitems/item-4'])
  })

  it('S5: do not include an object of an outdated list that the journal knows as deleted', async () => {
    const one = put('DeployItem', 'one')
    await journal(put('Execution', 'exec'), one, put('DeployItem', 'two'))
    // The API server answers the removal of the last finalizer with the previous version, without finalizers.
    const ended = { ...one, metadata: { ...one.metadata, finalizers: [], deletionTimestamp: '2030-01-01T00:00:00Z' } }
    const answer = { event: { watched: deployItemKind, type: 'MODIFIED' as const, object: ended }, conflicted: false }
    deps.journal.finish({ writer: 'deploy/uid-exec/j', events: [answer], finished: [] })
    const { children } = await readFamily(deps, executionKind, SUBJECT, CHILDREN)
    expect(children.map(({ metadata }) => metadata.name)).toEqual(['two'])
  })

  it('include an object that was missing only in a list of the bridge if the LIST of the run returns it', async () => {
    await journal(put('Execution', 'exec'), put('DeployItem', 'one'))
    const missing = { uid: 'uid-one', namespace: 'n', name: 'one' }
    const missed = { watched: deployItemKind, missing, listVersion: 10_000 }
    await journalEvents(deps.db, { cluster: 'local', source: 'relist', events: [missed] }, deps)
    const { children } = await readFamily(deps, executionKind, SUBJECT, CHILDREN)
    expect(children.map(({ metadata }) => metadata.name)).toEqual(['one'])
  })

  it('S6: are read one by one if they were missing only in a list of the bridge', async () => {
    await listKind('DeployItem')
    await journal(put('Execution', 'exec'), put('DeployItem', 'one'), put('DeployItem', 'two'))
    const missed = ['one', 'two'].map((name) => ({
      watched: deployItemKind,
      listVersion: 10_000,
      missing: { uid: `uid-${name}`, namespace: 'n', name },
    }))
    await journalEvents(deps.db, { cluster: 'local', source: 'relist', events: missed }, deps)
    api.objects.delete(`${ROOT}/deployitems/two`)
    const { children } = await readFamily(deps, executionKind, SUBJECT, CHILDREN)
    expect(children.map(({ metadata }) => metadata.name)).toEqual(['one'])
  })

  it.each([
    ['by GET', 2],
    ['by LIST', 8],
  ])(
    'are not read again in every pass if they are missing in a list of the bridge and on the server: %s',
    async (_how, count) => {
      await listKind('DeployItem')
      const names = Array.from({ length: count }, (_, index) => `item-${index}`)
      await journal(put('Execution', 'exec'), ...names.map((name) => put('DeployItem', name)))
      const missed = names.map((name) => ({
        watched: deployItemKind,
        listVersion: 10_000,
        missing: { uid: `uid-${name}`, namespace: 'n', name },
      }))
      await journalEvents(deps.db, { cluster: 'local', source: 'relist', events: missed }, deps)
      const items = names.map((name) => `${ROOT}/deployitems/${name}`)
      const first = api.objects.get(items[0] ?? '')
      for (const item of items) api.objects.delete(item)
      const look = async () => (await readFamily(deps, executionKind, SUBJECT, CHILDREN)).children.length
      expect(await look()).toBe(0)
      api.requests.length = 0
      expect(await look()).toBe(0)
      expect(reads()).toEqual([])
      // The API server was outdated. The run finds the object again 11 min later, or when the journal has an event of
      // it.
      api.objects.set(items[0] ?? '', first as KubeObject)
      const { now } = deps
      const later = { ...deps, now: () => new Date(now().getTime() + 11 * 60_000) }
      expect((await readFamily(later, executionKind, SUBJECT, CHILDREN)).children).toHaveLength(1)
      await journal(first as KubeObject)
      expect(await look()).toBe(1)
    },
  )

  it.each([
    ['an older version', (one: KubeObject) => ({ status: 200, body: one })],
    ['HTTP 404', () => refusal(404, 'NotFound')],
  ])('S5: are read by a list that is at least as new as the journal if a GET returns %s', async (_what, older) => {
    await listKind('DeployItem')
    const [before, now] = [put('DeployItem', 'one'), put('DeployItem', 'one')]
    await journal(put('Execution', 'exec'), now)
    const queries: (Request['query'] | undefined)[] = []
    let list = refusal(504, 'Timeout')
    api.intercept = ({ method, path, query }) => {
      if (method !== 'GET' || !path.startsWith(`${ROOT}/deployitems`)) return undefined
      if (path.endsWith('/one')) return older(before)
      queries.push(query)
      return list
    }
    await expect(readFamily(deps, executionKind, SUBJECT, CHILDREN)).rejects.toMatchObject({ status: 504 })
    list = { status: 200, body: { metadata: { resourceVersion: '1' }, items: [now] } }
    const { children } = await readFamily(deps, executionKind, SUBJECT, CHILDREN)
    expect(children.map(({ metadata }) => metadata.resourceVersion)).toEqual([now.metadata.resourceVersion])
    const { resourceVersion } = now.metadata
    const asked = { fieldSelector: 'metadata.name=one', resourceVersionMatch: 'NotOlderThan', resourceVersion }
    expect(queries).toEqual([asked, asked])
  })

  it('are read from the server if the status of the subject names a child that is not in the journal yet', async () => {
    await listKind('DeployItem')
    await journal(put('Execution', 'exec'), put('DeployItem', 'a'))
    put('DeployItem', 'b')
    const { children: found } = await readFamily(deps, executionKind, SUBJECT, CHILDREN)
    expect(found.map(({ metadata }) => metadata.name)).toEqual(['a'])
    api.requests.length = 0
    const owner = { ...SUBJECT, watched: executionKind }
    const read = async (named: readonly string[]) =>
      (await withNamedChildren(deps, owner, CHILDREN, { named, version: 1, found })).map(
        ({ metadata }) => metadata.name,
      )
    expect(await read(['a'])).toEqual(['a'])
    expect(reads()).toEqual([])
    expect(await read(['a', 'b'])).toEqual(['a', 'b'])
    expect(reads()).toEqual(['n/deployitems'])
  })

  it('do not include objects of another namespace or of an owner of another kind, even if they name the uid of the subject', async () => {
    await listKind('DeployItem')
    const [far, other] = [put('DeployItem', 'far'), put('DeployItem', 'other')]
    const elsewhere = { ...far, metadata: { ...far.metadata, namespace: 'elsewhere' } }
    const owned = { ...other.metadata, ownerReferences: [{ ...OWNER, kind: 'Installation' }] }
    api.put(`${ROOT.replace(/n$/, 'elsewhere')}/deployitems/far`, elsewhere)
    await journal(
      put('Execution', 'exec'),
      elsewhere,
      api.put(`${ROOT}/deployitems/other`, { ...other, metadata: owned }),
    )
    expect((await readFamily(deps, executionKind, SUBJECT, CHILDREN)).children).toEqual([])
  })

  it('match the requested name, even if they come from memory, and are found by their owner if they have lost a label', async () => {
    await listKind('DeployItem')
    const named = { watched: deployItemKind, by: { name: 'one' } }
    const other = { watched: deployItemKind, by: { labelSelector: `${MANAGED_BY_LABEL}=other` } }
    await journal(put('Execution', 'exec'), put('DeployItem', 'one'), put('DeployItem', 'two'))
    const namesOf = async (children: typeof named | typeof other) =>
      (await readFamily(deps, executionKind, SUBJECT, children)).children.map(({ metadata }) => metadata.name)
    for (let look = 1; look <= 2; look++)
      expect([await namesOf(named), await namesOf(other)]).toEqual([['one'], ['one', 'two']])
    expect((await readFamily(deps, executionKind, SUBJECT, CHILDREN)).children).toHaveLength(2)
  })

  it('do not include objects of an earlier owner with the same name', async () => {
    await listKind('DeployItem')
    const other = put('DeployItem', 'other')
    const owned = { ...other.metadata, ownerReferences: [{ ...OWNER, uid: 'uid-earlier' }] }
    await journal(put('Execution', 'exec'), api.put(`${ROOT}/deployitems/other`, { ...other, metadata: owned }))
    expect((await readFamily(deps, executionKind, SUBJECT, CHILDREN)).children).toEqual([])
  })
})
