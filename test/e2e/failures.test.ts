// Tests jobs that fail: running items still end, later items never start, and the status reports the cause.
// Source: seeds/landscaper-execution-controller.txt "Progressing", spec/landscaper.md 2.8, 1.16.

import { describe, expect, it } from 'vitest'
import {
  API,
  execution,
  failingItem,
  type Item,
  installation,
  type LsObject,
  OPERATION,
  waitingItem,
} from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('failures')

const CAUSE = 'the configuration asks for phase Failed'

async function run(name: string, items: readonly Item[], options = {}) {
  await stage.cluster.create(installation(name, items, options), 'installations')
  return await stage.cluster.waitUntilFinished(name)
}

/** The status of the Execution of an installation. */
async function endOf(name: string): Promise<LsObject['status']> {
  return (await stage.cluster.get('executions', name))?.status
}

describe.concurrent('an execution with a failed item', () => {
  it('stays in Progressing until the running siblings have ended, and fails then', async () => {
    const { cluster, pawl } = stage
    await cluster.create(
      installation('siblings', [failingItem('bad'), waitingItem('slow'), waitingItem('slower')]),
      'installations',
    )
    const items = await cluster.waitUntilItems(
      'siblings',
      ['slow', 'slower'],
      (item) => item?.status?.phase === 'Progressing',
    )
    await cluster.waitUntilItems('siblings', ['bad'], (item) => item?.status?.phase === 'Failed')

    await cluster.finishItem(items.get('slow')!, 'Succeeded')
    const slow = (await cluster.items('siblings')).get('slow')!
    await pawl.waitForHostPass(slow)
    expect(await endOf('siblings')).toMatchObject({ phase: 'Progressing' })

    await cluster.finishItem(items.get('slower')!, 'Succeeded')
    const root = await cluster.waitUntilFinished('siblings')
    expect(await endOf('siblings')).toMatchObject({
      phase: 'Failed',
      lastError: {
        operation: 'handlePhaseProgressing',
        reason: 'DeployItemsFailed',
        message: `has failed or missing deploy items: bad; bad: ${CAUSE}`,
      },
    })
    expect(root.status).toMatchObject({
      phase: 'Failed',
      lastError: {
        operation: 'buildErrorIfFailedChild',
        reason: 'children failed',
        message: `execution siblings is Failed; expected Succeeded: has failed or missing deploy items: bad; bad: ${CAUSE}`,
      },
    })
  })

  it('never triggers the later levels', async () => {
    await run('levels', [
      failingItem('one'),
      { name: 'two', dependsOn: ['one'] },
      { name: 'three', dependsOn: ['two'] },
    ])
    const items = await stage.cluster.items('levels')
    expect(Object.fromEntries([...items].map(([name, { status }]) => [name, status?.jobID !== undefined]))).toEqual({
      one: true,
      two: false,
      three: false,
    })
    expect(await endOf('levels')).toMatchObject({ phase: 'Failed' })
  })

  it('succeeds in the next job when the item has been mended', async () => {
    const first = await run('mended', [failingItem('only'), { name: 'next', dependsOn: ['only'] }])
    const mended = installation('mended', [{ name: 'only' }, { name: 'next', dependsOn: ['only'] }])
    await stage.cluster.patch('installations', 'mended', mended)
    const second = await stage.cluster.waitUntilFinished('mended', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect(second.status?.lastError).toBeUndefined()
    expect((await endOf('mended'))?.lastError).toBeUndefined()
    expect(await stage.cluster.phases('mended')).toEqual({ only: 'Succeeded', next: 'Succeeded' })
  })
})

describe.concurrent('an execution whose items depend on each other in a cycle', () => {
  it('runs the items outside of it, then fails and prints the path', async () => {
    await run('cycle', [
      { name: 'a', dependsOn: ['b', 'free'] },
      { name: 'b', dependsOn: ['c'] },
      { name: 'c', dependsOn: ['a'] },
      { name: 'free' },
    ])
    expect(await endOf('cycle')).toMatchObject({
      phase: 'Failed',
      lastError: {
        operation: 'handlePhaseProgressing',
        reason: 'CyclicDependencies',
        message: 'items could not be started because they depend on each other: a -> b -> c -> a',
        codes: ['ERR_CYCLIC_DEPENDENCIES'],
      },
    })
    expect(await stage.cluster.phases('cycle')).toEqual({ free: 'Succeeded', a: undefined, b: undefined, c: undefined })
  })
})

describe.concurrent('an execution whose list of items cannot work', () => {
  it.each([
    ['unknown', [{ name: 'a', dependsOn: ['nobody'] }], '"a" depends on "nobody"'],
    ['duplicate', [{ name: 'twin' }, { name: 'twin' }], '"twin" is there twice'],
  ])('fails at once and names what is %s', async (name, items, words) => {
    await stage.cluster.create(execution(name, items), 'executions')
    await stage.cluster.patch('executions', name, { status: { jobID: 'job-1' } }, 'status')
    const failed = await stage.cluster.waitUntilFinished(name, undefined, 'executions')
    expect(failed.status).toMatchObject({
      phase: 'Failed',
      lastError: {
        operation: 'handlePhaseInit',
        reason: 'InvalidDeployItems',
        message: expect.stringContaining(words) as string,
      },
    })
    expect(await stage.cluster.items(name)).toEqual(new Map())
  })
})

describe.concurrent('an installation that its author has to mend', () => {
  it('fails with the lines around the fault of a template', async () => {
    const template = ['deployItems:', '- name: a', '  type: {{ .nothing.at.all | required }}', '- name: b'].join('\n')
    const blueprint = { deployExecutions: [{ name: 'broken', type: 'GoTemplate', template }] }
    const failed = await run('template', [], { blueprint })
    expect(failed.status).toMatchObject({ phase: 'Failed', lastError: { operation: 'handlePhaseInit' } })
    expect(failed.status?.lastError?.message).toMatch(/broken/)
    expect(failed.status?.lastError?.message).toMatch(/\b3\b.*required/s)
    expect(failed.status?.lastError?.message).toContain('- name: a')
    expect(await stage.cluster.get('executions', 'template')).toBeUndefined()
  })

  it('fails when its context is not there, unless that is the default one', async () => {
    const failed = await run('context', [{ name: 'only' }], { spec: { context: 'nowhere' } })
    expect(failed.status).toMatchObject({
      phase: 'Failed',
      lastError: {
        reason: 'ContextNotFound',
        message: 'spec.context names context failures/nowhere; there is none',
      },
    })
    await stage.cluster.create({ apiVersion: API, kind: 'Context', metadata: { name: 'somewhere' } }, 'contexts')
    await stage.cluster.patch('installations', 'context', {
      spec: { context: 'somewhere' },
      metadata: { annotations: { [OPERATION]: 'reconcile' } },
    })
    const succeeded = await stage.cluster.waitUntilFinished('context', failed.status?.jobID)
    expect(succeeded.status).toMatchObject({ phase: 'Succeeded' })
    expect((await stage.cluster.items('context')).get('only')?.spec).toMatchObject({ context: 'somewhere' })
  })
})
