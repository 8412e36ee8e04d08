// A worker that caches two runs, and a run that gets far more signals than it can make passes. Source: spec/engine.md 4.4 (T6, T8).

import { afterAll, describe, expect, it, vi } from 'vitest'
import { installation, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { byForm } from '../support/matrix/form.ts'
import { useStage } from '../support/pawl/stage.ts'

// One run is active while another is woken: with room for two, nearly every run must be replayed.
const CACHED = ['--cached-runs', '2']
const RUNS = 6
const SIGNALS = byForm(1_000, 10_000)
const AT_ONCE = 100

const stage = useStage('worker-limits', () => {
  // Only then does the worker log that it evicted a run.
  vi.stubEnv('PAWL_LOG_LEVEL', 'debug')
  return Promise.resolve({ workerFlags: CACHED })
})
afterAll(() => vi.unstubAllEnvs())

const isWaiting = (one?: LsObject) => one?.status?.phase === 'Progressing' && one.status.jobID !== undefined

describe('T6: a worker that caches two runs', () => {
  it('continues six waiting runs by replay, and ends each run once', async () => {
    const { cluster, pawl } = stage
    const names = Array.from({ length: RUNS }, (_, index) => `replayed-${index}`)
    const items = [waitingItem('one'), waitingItem('two', ['one'])]
    await Promise.all(names.map((name) => cluster.create(installation(name, items), 'installations')))
    for (const item of ['one', 'two']) {
      await Promise.all(
        names.map(async (name) => {
          const found = await cluster.waitUntilItems(name, [item], isWaiting, 120_000)
          await cluster.finishItem(found.get(item)!, 'Succeeded')
        }),
      )
    }
    const roots = await Promise.all(
      names.map((name) => cluster.waitUntilFinished(name, undefined, 'installations', 120_000)),
    )
    for (const root of roots) {
      expect(root.status?.phase).toBe('Succeeded')
      expect(await pawl.jobs(root)).toMatchObject([{ jobID: root.status?.jobID, outcome: 'Succeeded' }])
    }
    expect(pawl.log('worker').match(/a run was evicted from the cache/g)?.length ?? 0).toBeGreaterThan(0)
  })
})

describe('T8: a run that receives more signals than it can make passes', () => {
  it('makes few passes, and ends like an undisturbed one', async () => {
    const { cluster, pawl } = stage
    const created = await cluster.create(installation('stormed', [waitingItem('slow')]), 'installations')
    const items = await cluster.waitUntilItems('stormed', ['slow'], isWaiting, 120_000)
    await cluster.waitUntil('installations', 'stormed', isWaiting)
    const { workflow_id } = await rowOf(created)
    const run = pawl.client.workflow.getHandle(workflow_id)
    for (let sent = 0; sent < SIGNALS; sent += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => run.signal('wake', { seq: sent + index })))
    await cluster.finishItem(items.get('slow')!, 'Succeeded')
    const root = await cluster.waitUntilFinished('stormed', undefined, 'installations', 120_000)
    expect(root.status?.phase).toBe('Succeeded')
    await pawl.waitUntilSettled(root)
    const { passes, outcome } = await rowOf(created)
    expect(outcome).toBe('Succeeded')
    expect(passes).toBeLessThan(SIGNALS / 4)
  })
})

async function rowOf({ metadata: { uid = '' } }: LsObject) {
  return await stage.pawl.db.selectFrom('job').selectAll().where('uid', '=', uid).executeTakeFirstOrThrow()
}
