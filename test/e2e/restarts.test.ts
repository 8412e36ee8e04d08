// Workers that end: one is stopped in the middle of jobs, and one is killed and started again while jobs are paused or wait for their interval.
// crash.test.ts has a crash at each write, own-activities.test.ts a stop during activities of users.
// Source: spec/engine.md 5 ("pause"), spec/landscaper.md 2.12, docs/adr/0049.

import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { installation, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { readiness } from '../support/pawl/pawl.ts'
import { useStage } from '../support/pawl/stage.ts'

const GRACE_MS = 30_000
const stage = useStage('restarts', () => Promise.resolve({ workerFlags: ['--drain-ms', '5000'] }))
const PAUSED = 'landscaper.gardener.cloud/pawl-paused'
const INTERVAL_MS = 6000

async function pause(value: string | null): Promise<void> {
  await stage.cluster.patch('installations', 'paused', { metadata: { annotations: { [PAUSED]: value } } })
}

/** The start of the last automatic job. */
const startOf = ({ status }: LsObject) =>
  Date.parse((status?.['automaticReconcileStatus'] as { lastReconcileTime: string }).lastReconcileTime)

describe('a worker that is stopped in the middle of jobs', () => {
  it('is not ready at once, ends within the grace period, and its jobs continue elsewhere', async () => {
    await stage.pawl.startWorker('leaving')
    const names = Array.from({ length: 6 }, (_, index) => `shop-${index}`)
    await Promise.all(
      names.map((name) => stage.cluster.create(installation(name, [waitingItem('slow')]), 'installations')),
    )
    const items = await Promise.all(
      names.map((name) => stage.cluster.waitUntilItems(name, ['slow'], (it) => it?.status?.phase === 'Progressing')),
    )
    const ready = async () => await readiness(stage.pawl.log('leaving'))
    expect(await ready()).toBe(200)
    const leaving = stage.pawl.child('leaving')
    const exited = once(leaving, 'exit')
    const told = performance.now()
    leaving.kill('SIGTERM')
    // HTTP 503, or the process has ended already because it waits for no call.
    await expect.poll(ready, { interval: 5 }).not.toBe(200)
    const [code] = (await exited) as [number]
    expect(code).toBe(0)
    expect(performance.now() - told).toBeLessThan(GRACE_MS)
    for (const found of items) await stage.cluster.finishItem(found.get('slow')!, 'Succeeded')
    for (const name of names) {
      const root = await stage.cluster.waitUntilFinished(name)
      expect(root.status?.phase).toBe('Succeeded')
      await stage.pawl.waitUntilSettled(root)
      expect(await stage.pawl.jobs(root)).toMatchObject([{ outcome: 'Succeeded' }])
    }
  })
})

it('a paused job stays paused across a restart of the worker, and an automatic reconcile keeps its interval', async () => {
  const { cluster, pawl } = stage
  const type = 'example.org/slow'
  const deployer = Deployer.start(cluster, type, { install: () => 'wait' })
  const items = [{ name: 'first', type }, { name: 'independent' }, { name: 'next', dependsOn: ['first'] }]
  await cluster.create(installation('paused', items), 'installations')
  await cluster.waitUntilItems('paused', ['first'], (item) => item?.status?.phase === 'Progressing')
  await pause('true')
  await cluster.waitUntil('installations', 'paused', (one) => one?.status?.['paused'] !== undefined)
  const spec = { automaticReconcile: { succeededReconcile: { interval: `${INTERVAL_MS / 1000}s` } } }
  await cluster.create(installation('automatic', [{ name: 'good' }], { spec }), 'installations')
  const first = await cluster.waitUntilFinished('automatic')

  await pawl.kill('worker')
  await pawl.startWorker()

  const second = await cluster.waitUntilFinished('automatic', first.status?.jobID)
  expect(second.status).toMatchObject({
    phase: 'Succeeded',
    automaticReconcileStatus: { generation: first.metadata.generation, numberOfReconciles: 0, onFailed: false },
  })
  const ended = Date.parse(first.status?.transitionTimes?.['finishedTime'] ?? '')
  expect(startOf(second) - ended).toBeGreaterThanOrEqual(INTERVAL_MS)

  deployer.install = () => 'done'
  const finished = await cluster.waitUntilItems('paused', ['first'], (item) => item?.status?.phase === 'Succeeded')
  await pawl.waitForHostPass(finished.get('first') as LsObject)
  expect((await cluster.items('paused')).get('next')?.status?.jobID).toBeUndefined()
  expect((await cluster.get('installations', 'paused'))?.status).toMatchObject({ phase: 'Progressing' })
  await pause(null)
  expect((await cluster.waitUntilFinished('paused')).status).toMatchObject({ phase: 'Succeeded' })
  expect(await cluster.phases('paused')).toEqual({ first: 'Succeeded', independent: 'Succeeded', next: 'Succeeded' })

  const third = await cluster.waitUntilFinished('automatic', second.status?.jobID)
  expect(startOf(third) - startOf(second)).toBeGreaterThanOrEqual(INTERVAL_MS)
  await cluster.delete('installations', 'automatic')
  await cluster.waitUntilGone('automatic')
  await deployer.stop()
}, 180_000)
