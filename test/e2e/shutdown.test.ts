// A worker that is told to stop: it says so first, lets go of what takes long, and ends within a pod's grace period. What it left goes on elsewhere.
// Activities of users that are under way meanwhile: own-activities.test.ts.

import { once } from 'node:events'
import { beforeAll, describe, expect, it } from 'vitest'

import { installation, waitingItem } from '../support/cluster/cluster.ts'
import { readiness } from '../support/pawl/pawl.ts'
import { useStage } from '../support/pawl/stage.ts'

const GRACE_MS = 30_000
const stage = useStage('shutdown', () => Promise.resolve({ workerFlags: ['--drain-ms', '5000'] }))
beforeAll(async () => {
  await stage.pawl.startWorker('leaving')
})

describe('a worker that is told to stop in the middle of jobs', () => {
  it('is not ready from the first moment, ends within the grace period, and its jobs go on', async () => {
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
    // 503, or it has left already: it has no call that it waits for.
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
