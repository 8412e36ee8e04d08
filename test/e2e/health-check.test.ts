// Tests the objects in which the engine reports its health when processes die, with the shipped permissions. test/env/health-check.test.ts tests which
// process writes. Source: spec/landscaper.md 5.8, 5.9; docs/reference/health.md.

import { afterAll, describe, expect, it } from 'vitest'
import { createKubeClient } from '../../activities/kube/client.ts'
import { createProblemList } from '../../worker/reconciler/stuck-runs.ts'
import { createLogger } from '../../worker/server/log.ts'
import { reportTarget } from '../../worker/server/report-object.ts'
import { useStage } from '../support/pawl/stage.ts'

const NAMESPACE = 'health-check'
const OWN = 'own'
const FLAGS = ['--health-check', `${NAMESPACE}/${OWN}`, '--health-check-ms', '6000']
const WAIT = { timeout: 90_000, interval: 200 }
const stage = useStage(NAMESPACE, () => Promise.resolve({ bridgeFlags: FLAGS, workerFlags: FLAGS }))

const told = async () => (await stage.cluster.get('lshealthchecks', OWN)) as Record<string, unknown> | undefined
const until = async (status: string, description: RegExp) => {
  await expect.poll(told, WAIT).toMatchObject({ status, description: expect.stringMatching(description) as string })
}

describe('the health of the engine', { timeout: 240_000 }, () => {
  it('is reported as Failed by the bridge when the only worker dies, and as Ok after the next worker starts', async () => {
    await until('Ok', /are healthy$/)
    await stage.pawl.kill('worker')
    await until('Failed', /^no worker is running/)
    await stage.cluster.delete('lshealthchecks', OWN)
    await until('Failed', /^no worker is running/)
    await stage.pawl.startWorker()
    await until('Ok', /are healthy$/)
  })

  it('is reported as Failed by the worker when the only bridge dies, and is updated regularly while it is Ok', async () => {
    await stage.pawl.kill('bridge')
    await until('Failed', /^no bridge is running/)
    await stage.cluster.delete('lshealthchecks', OWN)
    await until('Failed', /^no bridge is running/)
    await stage.pawl.startBridge()
    await until('Ok', /are healthy$/)
    const before = String((await told())?.['lastUpdateTime'])
    await expect.poll(async () => String((await told())?.['lastUpdateTime']) > before, WAIT).toBe(true)
  })
})

describe('the list of bugs that workers report', () => {
  const place = reportTarget('critical-problems', `${NAMESPACE}/critical-problems`, ['landscaper'])
  const kube = createKubeClient({ kubeconfigPath: stage.servers.accounts.worker })
  afterAll(() => kube.close())

  it('is created with the first bug, and loses no bug when two workers write at the same time', async () => {
    const worker = () => createProblemList({ kube, log: createLogger('test', 'silent'), now: () => new Date(), place })
    const [first, second] = [worker(), worker()]
    await first('installation n/a: TypeError: no such field (plan.ts:1:1)')
    await Promise.all([first('second'), first('third'), second('fourth')])
    const list = await stage.cluster.get('criticalproblems', 'critical-problems')
    const found = list?.spec?.['criticalProblem'] as { description: string; podName: string }[]
    expect(found.map(({ description }) => description).sort()).toEqual([
      'fourth',
      'installation n/a: TypeError: no such field (plan.ts:1:1)',
      ...['second', 'third'],
    ])
  })
})
