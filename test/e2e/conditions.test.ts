// What tools that know no phases make of Installations, Executions and deploy items: kubectl wait, for real, and kstatus, by its rules.
// Source: docs/reference/conditions.md.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { failingItem, installation, type Item, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { conditionOf, conditionsOf, hasCondition, kstatusOf } from '../support/cluster/kstatus.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, sub, subsOf } from '../support/landscaper/sub-installations.ts'
import { VersionWatch } from '../support/cluster/version-watch.ts'

const stage = useStage('conditions')
let watch: VersionWatch

beforeAll(() => {
  watch = VersionWatch.start(stage.cluster, [installationKind, executionKind, deployItemKind])
})
afterAll(() => watch.stop())

describe.concurrent('kubectl wait --for=condition=Ready', () => {
  it('waits for the job of an edit that it was started before, and for its end', async () => {
    const { cluster } = stage
    const first = await run('edited', [{ name: 'a' }])
    await kubectlWait('edited', 'Ready')
    await cluster.patch('installations', 'edited', { spec: installation('edited', [waitingItem('slow')]).spec })
    const waited = kubectlWait('edited', 'Ready').then(async () => await cluster.get('installations', 'edited'))
    await cluster.trigger('edited')
    const items = await cluster.waitUntilItems('edited', ['slow'], (one) => one?.status?.phase === 'Progressing')
    const still = await Promise.race([waited, cluster.get('installations', 'edited')])
    expect(still?.status?.jobIDFinished).toBe(first.status?.jobID)
    expect([kstatusOf(still as LsObject), conditionOf(still, 'Ready')?.status]).toEqual(['InProgress', 'Unknown'])
    await cluster.finishItem(items.get('slow') as LsObject, 'Succeeded')
    const after = await waited
    expect(after?.status).toMatchObject({ phase: 'Succeeded', observedGeneration: after?.metadata.generation })
    expect(after?.status?.jobIDFinished).not.toBe(first.status?.jobID)
  })

  it('ends for a sub-installation, an execution and an item, too', async () => {
    const blueprint = { subinstallations: [sub('part', { blueprint: deploying({ name: 'a' }) })] }
    await stage.cluster.create(installation('tree', [{ name: 'own' }], { blueprint }), 'installations')
    await kubectlWait('tree', 'Ready')
    const part = (await subsOf(stage.cluster, 'tree')).get('part')
    await kubectlWait(part?.metadata.name ?? '', 'Ready')
    await kubectlWait('tree', 'Ready', 'executions')
    for (const { metadata } of (await stage.cluster.items('tree')).values())
      await kubectlWait(metadata.name, 'Ready', 'deployitems')
  })
})

describe.concurrent('the conditions of an installation', () => {
  it('say that a job has failed, and of what; the next begins without them', async () => {
    const { cluster } = stage
    const failed = await run('broken', [failingItem('a')])
    await kubectlWait('broken', 'Stalled')
    expect([kstatusOf(failed), hasCondition(failed, 'Ready')]).toEqual(['Failed', false])
    expect(conditionOf(failed, 'Ready')).toMatchObject({ status: 'False', reason: 'ChildrenFailed' })
    expect(conditionOf(failed, 'Stalled')?.message).toContain('Execution "broken" failed')
    for (const one of [await cluster.get('executions', 'broken'), (await cluster.items('broken')).get('a')])
      expect(kstatusOf(one as LsObject)).toBe('Failed')
    await cluster.patch('installations', 'broken', installation('broken', [{ name: 'a' }]))
    const mended = await cluster.waitUntilFinished('broken', failed.status?.jobID)
    expect(conditionsOf(mended)).toEqual(SUCCEEDED)
    expect(kstatusOf(mended)).toBe('Current')
  })

  const TARGET_EXPORTS = {
    exports: [{ name: 'x', type: 'target', targetType: 'example.org/x' }],
    exportExecutions: [
      {
        name: 'x',
        type: 'GoTemplate',
        template: 'exports: { x: { type: example.org/x, config: { a: b }, secretRef: { name: s } } }',
      },
    ],
  }
  it.each([
    ['unrendered', rendering('{{ fail "no" }}'), {}, 'ReconcileExecution TemplatingFailed'],
    ['unproduced', DATA_EXPORT, { data: [{ name: 'x', dataRef: 'x' }] }, 'CreateExports CreateDataObjects'],
    ['no-target', TARGET_EXPORTS, { targets: [{ name: 'x', target: 'x' }] }, 'CreateExports CreateTargets'],
  ])('say what was not reached: %s', async (name, blueprint, exports, expected) => {
    const { cluster } = stage
    const [type = '', reason] = expected.split(' ')
    await cluster.create(installation(name, [{ name: 'a' }], { blueprint, spec: { exports } }), 'installations')
    const failed = await cluster.waitUntilFinished(name)
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect(conditionOf(failed, type)).toMatchObject({ status: 'False', reason, observedGeneration: 2 })
    expect(conditionOf(failed, type)?.message).toBe(failed.status?.lastError?.message)
    await cluster.patch('installations', name, { spec: { ...installation(name, [{ name: 'a' }]).spec, exports: null } })
    await cluster.trigger(name)
    const mended = await cluster.waitUntilFinished(name, failed.status?.jobID)
    expect(conditionsOf(mended)).toEqual(SUCCEEDED)
  })

  it('say that it could not be deleted', async () => {
    const { cluster } = stage
    await cluster.create(installation('stuck', [FOREIGN]), 'installations')
    const isRunning = (one: LsObject | undefined) => one?.status?.jobID !== one?.status?.jobIDFinished
    const running = await cluster.waitUntilItems('stuck', ['theirs'], isRunning)
    await cluster.finishItem(running.get('theirs') as LsObject, 'Succeeded')
    const { status } = await cluster.waitUntilFinished('stuck')
    await cluster.delete('installations', 'stuck')
    const leaving = await cluster.waitUntilItems('stuck', ['theirs'], isRunning)
    const during = await cluster.get('installations', 'stuck')
    expect([kstatusOf(during as LsObject), hasCondition(during as LsObject, 'Ready')]).toEqual(['Terminating', false])
    await cluster.finishItem(leaving.get('theirs') as LsObject, 'DeleteFailed')
    const failed = await cluster.waitUntilFinished('stuck', status?.jobID)
    expect(failed.status).toMatchObject({ phase: 'DeleteFailed' })
    expect(conditionsOf(failed)).toEqual(['Ready: False', 'Stalled: True'])
    // Its deployer's to write.
    expect(conditionsOf((await cluster.items('stuck')).get('theirs'))).toEqual([])
  })
})

describe('at any moment', () => {
  it('the conditions of all that this file has made said what the job IDs and the phase said', async () => {
    await stage.cluster.delete('installations', 'tree')
    await stage.cluster.waitUntilGone('tree')
    await watch.upToDate()
    const all = [...watch.versions.values()].flat() as LsObject[]
    const own = all.filter(({ status, metadata }) => status?.jobID !== undefined && !isOfHand(metadata.name))
    expect(own.length).toBeGreaterThan(50)
    const ofJobs = (one: LsObject) => conditionsOf(one).filter((told) => OF_JOBS.test(told))
    expect(own.filter((one) => ofJobs(one).join() !== expected(one).join())).toEqual([])
    const conditions = own.flatMap(({ status }) => (status?.['conditions'] ?? []) as readonly object[])
    expect(conditions.filter((condition) => !isWhole(condition))).toEqual([])
  })
})

/** Conditions of an installation whose job succeeded. */
const SUCCEEDED = ['Ready: True', 'ReconcileExecution: True', 'EnsureSubInstallations: True', 'CreateExports: True']
const DATA_EXPORT = { exports: [{ name: 'x', type: 'data', schema: {} }] }
const FOREIGN: Item = { name: 'theirs', type: 'example.org/theirs' }

/** Items that tests end, whose deployer does not say so. */
function isOfHand(name: string): boolean {
  return /-(slow|theirs)-/.test(name)
}

const OF_JOBS = /^(?:Ready|Reconciling|Stalled): /

function expected({ status = {} }: LsObject): readonly string[] {
  if (status.jobID !== status.jobIDFinished) return ['Ready: Unknown', 'Reconciling: True']
  return status.phase === 'Succeeded' ? ['Ready: True'] : ['Ready: False', 'Stalled: True']
}

function isWhole(condition: object): boolean {
  const texts = new Map(Object.entries(condition))
  return ['type', 'status', 'reason', 'message', 'lastTransitionTime', 'lastUpdateTime'].every(
    (key) => typeof texts.get(key) === 'string' && texts.get(key) !== '',
  )
}

function rendering(template: string) {
  return { deployExecutions: [{ name: 'x', type: 'GoTemplate', template }] }
}

async function run(name: string, items: readonly Item[]): Promise<LsObject> {
  await stage.cluster.create(installation(name, items), 'installations')
  return await stage.cluster.waitUntilFinished(name)
}

async function kubectlWait(name: string, condition: string, plural = 'installations'): Promise<void> {
  const { kubectlPath, kubeconfigPath } = stage.servers
  const where = ['--kubeconfig', kubeconfigPath, '--namespace', stage.cluster.namespace]
  const what = ['wait', `--for=condition=${condition}`, '--timeout=90s', `${plural}/${name}`]
  await promisify(execFile)(kubectlPath, [...where, ...what])
}
