// Controllers work standalone: each in a worker process of its own, and together they finish jobs.
// Source: seeds/chaos-mesh-controller-rules.txt "Controller should work standalone".

import { beforeAll, describe, expect, it } from 'vitest'
import { CHAIN, installation, type LsObject } from '../support/cluster.ts'
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

/** How the runs were called that a job had, and on which queues they were; the prefix that all queues share is left out. */
async function runs({ status }: LsObject) {
  const jobs = await stage.pawl.db
    .selectFrom('job')
    .select(['controller', 'workflow_id', 'outcome'])
    .where('job_id', '=', status?.jobID ?? '')
    .execute()
  const found = jobs.map(async ({ controller, workflow_id, outcome }) => {
    const { taskQueue } = await stage.pawl.client.workflow.getHandle(workflow_id).describe()
    return [controller, `${taskQueue.replace(stage.pawl.taskQueue, '')} ${outcome ?? 'open'}`]
  })
  return Object.fromEntries((await Promise.all(found)) as [string, string][])
}

/** What the journal has to bring to the runs of a name; what is gone may still be told of. */
async function wakes(name: string) {
  const rows = await stage.pawl.db
    .selectFrom('wake')
    .select(['controller', 'lease_owner'])
    .where('name', '=', name)
    .execute()
  return rows.map(({ controller, lease_owner }) => `${controller} ${lease_owner === null ? 'free' : 'taken'}`)
}

describe('three workers with one controller each', () => {
  it('bring a job to its end, the next one too, and a deletion, each run on the queue of its controller', async () => {
    await stage.cluster.create(installation('three', CHAIN), 'installations')
    const first = await stage.cluster.finished('three')
    expect(first.status?.phase).toBe('Succeeded')
    await stage.pawl.settled(first)
    expect(await runs(first)).toEqual({
      installation: '-installation Succeeded',
      execution: '-execution Succeeded',
      deploy: '-deploy Done',
    })
    await stage.cluster.trigger('three')
    const second = await stage.cluster.finished('three', first.status?.jobID)
    expect(second.status?.phase).toBe('Succeeded')
    await stage.cluster.delete('installations', 'three')
    await stage.cluster.gone('three')
  })
})

describe('a job while the worker of one controller is missing', () => {
  const reached: Record<Controller, () => Promise<unknown>> = {
    installation: async () => (await stage.cluster.get('installations', 'no-installation'))?.status,
    execution: async () => {
      const { jobID, phase } = (await stage.cluster.get('executions', 'no-execution'))?.status ?? {}
      return { triggered: jobID !== undefined, phase }
    },
    deploy: async () => {
      const items = await stage.cluster.items('no-deploy')
      return Object.fromEntries(
        [...items].map(([name, { status }]) => [name, [status?.jobID !== undefined, status?.phase]]),
      )
    },
  }
  const where: Record<Controller, unknown> = {
    installation: undefined,
    execution: { triggered: true, phase: undefined },
    deploy: { a: [true, undefined], b: [false, undefined], c: [false, undefined] },
  }

  it.each(CONTROLLERS)('waits at what %s has to do, and goes on when that starts', async (missing) => {
    await stage.pawl.kill(missing, 'SIGTERM')
    const name = `no-${missing}`
    await stage.cluster.create(installation(name, CHAIN), 'installations')
    // The others have done what they can: nothing but this one is left.
    await expect.poll(() => wakes(name), { timeout: 30_000 }).toEqual([`${missing} free`])
    expect(await reached[missing]()).toEqual(where[missing])
    expect(await wakes(name)).toEqual([`${missing} free`])

    await start(missing)
    expect((await stage.cluster.finished(name)).status?.phase).toBe('Succeeded')
    await stage.cluster.delete('installations', name)
    await stage.cluster.gone(name)
  })
})
