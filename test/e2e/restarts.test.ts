// A worker that is killed and started again while jobs are paused or wait for their interval. crash.test.ts has a crash
// at each write, own-activities.test.ts a stop during activities of users, rolling-upgrade.test.ts a stop during jobs.
// Source: spec/engine.md 5 ("pause"), spec/landscaper.md 2.12, docs/adr/0049.

import { expect, it } from 'vitest'
import { installation, type LsObject } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('restarts')
const PAUSED = 'landscaper.gardener.cloud/pawl-paused'
const INTERVAL_MS = 6000

async function pause(value: string | null): Promise<void> {
  await stage.cluster.patch('installations', 'paused', { metadata: { annotations: { [PAUSED]: value } } })
}

/** The start of the last automatic job. */
const startOf = ({ status }: LsObject) =>
  Date.parse((status?.['automaticReconcileStatus'] as { lastReconcileTime: string }).lastReconcileTime)

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
