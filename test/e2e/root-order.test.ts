// Tests roots of one namespace that import from each other: which root waits, which root starts another one at its end,
// and the order of deletion. Source: spec/landscaper.md 2.2 trigger 5, 2.3, 2.4, 2.6, 2.14, appendix B 4, 7, 8, 30.

import { describe, expect, it, vi } from 'vitest'
import { type LsObject, failingItem, OPERATION, waitingItem } from '../support/cluster/cluster.ts'
import { importingInstallation, target } from '../support/landscaper/imports.ts'
import { root } from '../support/landscaper/roots.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('root-order')
const IGNORE_SUCCESSORS = 'landscaper.gardener.cloud/delete-ignore-successors'

const make = async (object: ReturnType<typeof root>) => await stage.cluster.create(object, 'installations')
const jobOf = (one: LsObject | undefined) => one?.status?.jobID
const runs = (one: LsObject | undefined) => jobOf(one) !== undefined && jobOf(one) !== one?.status?.jobIDFinished
const until = async (name: string, isSo: (one: LsObject | undefined) => boolean) =>
  await stage.cluster.waitUntil('installations', name, isSo)
/** Finishes the item `hold`, which keeps a job open. */
async function release(name: string, phase: 'Succeeded' | 'Failed' = 'Succeeded') {
  const items = await stage.cluster.waitUntilItems(name, ['hold'], (one) => one?.status?.phase === 'Progressing')
  const item = items.get('hold')
  if (item === undefined) throw new Error(`${name} has no item that holds it`)
  await stage.cluster.finishItem(item, phase)
}
const conditionOf = (one: LsObject | undefined) =>
  (one?.status?.['conditions'] as { type: string; status?: string }[] | undefined)?.find(
    ({ type }) => type === 'WaitsForSiblings',
  )
/** The names of the deleted Installations with this prefix, in the order of their deletions. */
async function deleted(prefix: string): Promise<readonly string[]> {
  const rows = await stage.pawl.db
    .selectFrom('watch_event')
    .select('name')
    .where('kind', '=', 'Installation')
    .where('type', '=', 'DELETED')
    .where('name', 'like', `${prefix}%`)
    .orderBy('seq')
    .execute()
  // The journal may get a deletion twice: from the run that deletes the object, and from the watch.
  return [...new Set(rows.map(({ name }) => name))]
}
const valueOf = async (name: string) => (await stage.cluster.get('dataobjects', name))?.['data']

describe.concurrent('a root that imports data of another root', () => {
  it('waits in Init while the exporting root runs, and continues when the exporting root has ended', async () => {
    await make(root('w-db', { gives: 'w-address', items: [waitingItem('hold')] }))
    await until('w-db', runs)
    await make(root('w-app', { takes: ['w-address'], gives: 'w-link' }))
    const told = await until('w-app', (one) => conditionOf(one) !== undefined)
    expect(conditionOf(told)).toMatchObject({
      status: 'True',
      message: 'waiting for siblings whose exports are imported: w-db',
    })
    await stage.cluster.waitUntilItems('w-db', ['hold'], (one) => one?.status?.phase === 'Progressing')
    expect((await stage.cluster.get('installations', 'w-app'))?.status).toMatchObject({ phase: 'Init' })
    await release('w-db')
    const ended = await until('w-app', (one) => one?.status?.phase === 'Succeeded')
    // The condition is missing when the end of w-db has already started another job of w-app.
    expect(conditionOf(ended)?.status ?? 'False').toBe('False')
    expect(await valueOf('w-link')).toBe('w-app w-db')
  })

  it('fails at once when the exporting root has never run, and is started when the exporting root ends', async () => {
    await make(root('n-db', { gives: 'n-address', triggered: false }))
    await make(root('n-app', { takes: ['n-address'], gives: 'n-link' }))
    const first = await stage.cluster.waitUntilFinished('n-app')
    expect(first.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'NotCompletedDependents' } })
    expect(first.status?.lastError?.message).toContain('n-db has never run')
    await stage.cluster.trigger('n-db')
    const second = await stage.cluster.waitUntilFinished('n-app', jobOf(first))
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect(await valueOf('n-link')).toBe('n-app n-db')
    const db = await stage.cluster.waitUntilFinished('n-db')
    expect(db.status?.['dependentsToTrigger']).toBeUndefined()
  })

  it('is started by an exporting root that fails, and then fails too', async () => {
    await make(root('f-db', { gives: 'f-address', items: [failingItem('bad')], triggered: false }))
    await make(root('f-app', { takes: ['f-address'], triggered: false }))
    await stage.cluster.trigger('f-db')
    const app = await stage.cluster.waitUntilFinished('f-app')
    expect(app.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'NotCompletedDependents' } })
    expect(app.status?.lastError?.message).toContain('f-db is Failed')
  })

  it('keeps the request for its next job when the exporting root ends during its current job', async () => {
    await make(root('k-db', { gives: 'k-address' }))
    await stage.cluster.waitUntilFinished('k-db')
    await make(root('k-app', { takes: ['k-address'], items: [waitingItem('hold')] }))
    await stage.cluster.waitUntilItems('k-app', ['hold'], (one) => one?.status?.phase === 'Progressing')
    const first = jobOf(await stage.cluster.get('installations', 'k-app'))
    await stage.cluster.trigger('k-db')
    const asked = await until('k-app', (one) => one?.metadata.annotations?.[OPERATION] === 'reconcile')
    expect(jobOf(asked)).toBe(first)
    await release('k-app')
    await until('k-app', (one) => jobOf(one) !== first && one?.metadata.annotations?.[OPERATION] === undefined)
    await release('k-app')
    expect((await stage.cluster.waitUntilFinished('k-app', first)).status).toMatchObject({ phase: 'Succeeded' })
  })

  // Landscaper ignores target maps here (appendix B 8).
  it('is started also when it imports the target in a target map', async () => {
    const exporter = {
      exports: { targets: [{ name: 'cluster', target: 'm-cluster' }] },
    }
    const blueprint = {
      exports: [{ name: 'cluster', type: 'target', targetType: 'example.org/cluster' }],
      exportExecutions: [
        {
          name: 'exports',
          type: 'GoTemplate',
          template: JSON.stringify({ exports: { cluster: { type: 'example.org/cluster', config: { token: 't' } } } }),
        },
      ],
    }
    await make(importingInstallation('m-maker', { spec: exporter, blueprint }))
    await stage.cluster.waitUntilFinished('m-maker')
    await stage.cluster.create(target('m-other'), 'targets')
    const targets = [{ name: 'clusters', targetMap: { one: 'm-cluster', other: 'm-other' } }]
    const imports = [{ name: 'clusters', type: 'targetMap', targetType: 'example.org/cluster' }]
    await make(importingInstallation('m-user', { targets, blueprint: { imports } }))
    const first = await stage.cluster.waitUntilFinished('m-user')
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    await stage.cluster.trigger('m-maker')
    expect((await stage.cluster.waitUntilFinished('m-user', jobOf(first))).status).toMatchObject({ phase: 'Succeeded' })
  })

  it('fails with ImportRing when it imports from itself through other roots, and no root runs forever', async () => {
    await make(root('r-a', { takes: ['r-c'], gives: 'r-a', triggered: false }))
    await make(root('r-b', { takes: ['r-a'], gives: 'r-b', triggered: false }))
    await make(root('r-c', { takes: ['r-b'], gives: 'r-c' }))
    const ring = await stage.cluster.waitUntilFinished('r-c')
    expect(ring.status).toMatchObject({
      phase: 'Failed',
      lastError: { reason: 'ImportRing', codes: ['ERR_CYCLIC_DEPENDENCIES'] },
    })
    expect(ring.status?.lastError?.message).toContain('r-c -> r-b -> r-a -> r-c')
    for (const name of ['r-a', 'r-b'])
      expect((await stage.cluster.get('installations', name))?.status?.jobID).toBeUndefined()
    for (const name of ['r-a', 'r-b', 'r-c']) await stage.cluster.delete('installations', name)
    for (const name of ['r-a', 'r-b', 'r-c']) await stage.cluster.waitUntilGone(name)
  })

  it('is not started by a root with hasNoSiblingExports; with hasNoSiblingImports it still starts the roots that import from it', async () => {
    await make(root('p-db', { gives: 'p-address', optimization: { hasNoSiblingExports: true } }))
    const db = await stage.cluster.waitUntilFinished('p-db')
    const alone = { hasNoSiblingImports: true }
    await make(root('p-app', { takes: ['p-address'], gives: 'p-link', optimization: alone }))
    const app = await stage.cluster.waitUntilFinished('p-app')
    await make(root('p-end', { takes: ['p-link'] }))
    const end = await stage.cluster.waitUntilFinished('p-end')
    await stage.cluster.trigger('p-db')
    // A root requests the jobs of importing roots before its own job ends.
    await stage.pawl.waitUntilSettled(await stage.cluster.waitUntilFinished('p-db', jobOf(db)))
    const untouched = await stage.cluster.get('installations', 'p-app')
    expect([jobOf(untouched), untouched?.metadata.annotations?.[OPERATION]]).toEqual([jobOf(app), undefined])
    await stage.cluster.trigger('p-app')
    // p-app requests this job at its end.
    await stage.cluster.waitUntilFinished('p-end', jobOf(end))
  })
})

describe.concurrent('roots that are being deleted', () => {
  it('are removed in the order of their imports, importing roots first', async () => {
    // One after the other, so that no root starts a job of another root at its end.
    await make(root('d-db', { gives: 'd-address' }))
    await stage.cluster.waitUntilFinished('d-db')
    await make(root('d-app', { takes: ['d-address'], gives: 'd-link' }))
    await stage.cluster.waitUntilFinished('d-app')
    await make(root('d-web', { takes: ['d-link'] }))
    await stage.cluster.waitUntilFinished('d-web')
    for (const name of ['d-db', 'd-app']) await stage.cluster.delete('installations', name)
    await until('d-db', (one) => one?.status?.phase === 'InitDelete')
    await until('d-app', (one) => one?.status?.phase === 'InitDelete')
    await stage.cluster.delete('installations', 'd-web')
    for (const name of ['d-web', 'd-app', 'd-db']) await stage.cluster.waitUntilGone(name)
    // The journal may be a moment behind the API server.
    await vi.waitFor(async () => expect(await deleted('d-')).toHaveLength(3), { timeout: 60_000, interval: 100 })
    expect(await deleted('d-')).toEqual(['d-web', 'd-app', 'd-db'])
  })

  it('do not wait for importing roots when they have the annotation delete-ignore-successors', async () => {
    await make(root('i-db', { gives: 'i-address' }))
    await stage.cluster.waitUntilFinished('i-db')
    await make(root('i-app', { takes: ['i-address'] }))
    await stage.cluster.waitUntilFinished('i-app')
    await stage.cluster.delete('installations', 'i-db')
    await until('i-db', (one) => one?.status?.phase === 'InitDelete')
    await stage.cluster.patch('installations', 'i-db', { metadata: { annotations: { [IGNORE_SUCCESSORS]: 'true' } } })
    await stage.cluster.waitUntilGone('i-db')
    expect((await stage.cluster.get('installations', 'i-app'))?.metadata.deletionTimestamp).toBeUndefined()
  })

  it('are removed although one root waits for the job of another root', async () => {
    await make(root('e-db', { gives: 'e-address', items: [waitingItem('hold')] }))
    await until('e-db', runs)
    await make(root('e-app', { takes: ['e-address'] }))
    await until('e-app', (one) => one?.status?.phase === 'Init')
    for (const name of ['e-db', 'e-app']) await stage.cluster.delete('installations', name)
    await release('e-db')
    for (const name of ['e-db', 'e-app']) await stage.cluster.waitUntilGone(name)
  })
})
