// Controllers work standalone: each in a worker process of its own, and together they finish jobs.
// Source: seeds/chaos-mesh-controller-rules.txt "Controller should work standalone".

import { beforeAll, describe, expect, it } from 'vitest'
import { CHAIN, execution, installation } from '../support/cluster.ts'
import { useStage } from '../support/stage.ts'

const CONTROLLERS = ['installation', 'execution', 'deploy'] as const
type Controller = (typeof CONTROLLERS)[number]

const stage = useStage('only')
const start = async (only: Controller) => {
  await stage.pawl.startWorker(only, undefined, ['--only', only])
}
beforeAll(async () => {
  await stage.pawl.kill('worker', 'SIGTERM')
  await Promise.all(CONTROLLERS.map(start))
})

describe('three workers with one controller each', () => {
  it('bring a job to its end, the next one too, and a deletion, each run on the queue of its controller', async () => {
    await stage.cluster.create(installation('three', CHAIN), 'installations')
    const first = await stage.cluster.finished('three')
    expect(first.status?.phase).toBe('Succeeded')
    await stage.pawl.settled(first)
    // The others are there for what nobody hosts.
    expect(await stage.pawl.runsOf(first)).toEqual(['installation on -2-installation: Succeeded'])
    await stage.cluster.trigger('three')
    const second = await stage.cluster.finished('three', first.status?.jobID)
    expect(second.status?.phase).toBe('Succeeded')
    await stage.cluster.delete('installations', 'three')
    await stage.cluster.gone('three')
  })
})

describe('a job while the worker of one controller is missing', () => {
  it('waits when that is what starts it, and goes on when it starts', async () => {
    await stage.pawl.kill('installation', 'SIGTERM')
    const name = 'no-installation'
    await stage.cluster.create(installation(name, CHAIN), 'installations')
    await expect.poll(() => stage.pawl.wakesOf(name), { timeout: 30_000 }).toEqual(['installation free'])
    expect((await stage.cluster.get('installations', name))?.status).toBeUndefined()

    await start('installation')
    expect((await stage.cluster.finished(name)).status?.phase).toBe('Succeeded')
    await stage.cluster.delete('installations', name)
    await stage.cluster.gone(name)
  })

  it('of an execution that has no installation waits at what that has to do, and goes on when it starts', async () => {
    await stage.pawl.kill('execution', 'SIGTERM')
    const name = 'no-execution'
    await stage.cluster.create(execution(name, CHAIN), 'executions')
    await stage.cluster.patch('executions', name, { status: { jobID: 'first' } }, 'status')
    await expect.poll(() => stage.pawl.wakesOf(name), { timeout: 30_000 }).toEqual(['execution free'])
    expect(await stage.cluster.items(name)).toEqual(new Map())

    await start('execution')
    expect((await stage.cluster.finished(name, undefined, 'executions')).status?.phase).toBe('Succeeded')
  })
})
