import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import { fail, type Outcome, stop } from '../../../../workflows/kit/index.ts'
import { done } from '../../../../workflows/kit/plan/outcome.ts'
import { executionPlan } from '../../../../workflows/landscaper/execution/plan.ts'
import { triggerDeletion } from '../../../../workflows/landscaper/execution/delete-items.ts'
import { triggerDeployItems } from '../../../../workflows/landscaper/execution/trigger-deploy-items.ts'
import {
  executionPass,
  failed,
  JOB,
  leaving,
  pending,
  running,
  served,
  slow,
  succeeded,
  THEIRS,
  wrote,
} from './execution-pass.ts'

describe('an execution in phase Progressing', () => {
  it('triggers exactly the items without unfinished predecessors', async () => {
    const { pass, called } = executionPass([pending('a'), pending('b'), pending('c', ['a'])])
    expect(await triggerDeployItems(pass)).toEqual(stop('waiting for a, b'))
    expect(called.triggered).toEqual(['a', 'b'])
    expect(pass.state.deployItems.map(({ item, jobID }) => [item, jobID === JOB])).toEqual([
      ['a', true],
      ['b', true],
      ['c', false],
    ])
  })

  it('triggers an item when its last predecessor has finished, while others run', async () => {
    const { pass, called } = executionPass([succeeded('a'), succeeded('b'), pending('c', ['a', 'b']), running('d')])
    expect(await triggerDeployItems(pass)).toEqual(stop('waiting for c, d'))
    expect(called.triggered).toEqual(['c'])
  })

  it('waits for running deploy items before it fails (P1)', async () => {
    const { pass, called } = executionPass([failed('db'), running('cache'), pending('app')])
    expect(await triggerDeployItems(pass)).toEqual(stop('a deploy item failed; waiting for the running ones: cache'))
    expect(called.triggered).toEqual([])
  })

  it('fails if items failed or are missing, and nothing runs', async () => {
    const { pass } = executionPass([failed('db'), pending('app', ['db'])], {
      target: { items: ['db', 'app', 'lost'].map((name) => ({ name, type: THEIRS, dependsOn: [] })) },
    })
    expect(await triggerDeployItems(pass)).toEqual(
      fail('DeployItemsFailed', 'has failed or missing deploy items: db, lost'),
    )
  })

  it('names the errors of at most three items', async () => {
    const objects = ['a', 'b', 'c', 'd'].map((name) => ({ ...failed(name), error: `no ${name}` }))
    const { pass } = executionPass([failed('z'), ...objects])
    expect((await triggerDeployItems(pass)).faults[0]?.message).toBe(
      'has failed or missing deploy items: z, a, b, c, d; a: no a; b: no b; c: no c',
    )
  })

  it('reports the distinct codes of failed items', async () => {
    const coded = (item: string, ...codes: string[]) => ({ ...failed(item), codes })
    const { pass } = executionPass([
      coded('a', 'ERR_TIMEOUT'),
      coded('b', 'ERR_TIMEOUT', 'ERR_UNAUTHORIZED'),
      failed('c'),
    ])
    const { faults } = await triggerDeployItems(pass)
    expect(faults).toMatchObject([{ code: 'DeployItemsFailed', codes: ['ERR_TIMEOUT', 'ERR_UNAUTHORIZED'] }])
    expect(executionPlan.report?.('Progressing', faults).codes).toEqual(['ERR_TIMEOUT', 'ERR_UNAUTHORIZED'])
    const deletion = await triggerDeletion(executionPass([coded('a', 'ERR_CONFIGURATION_PROBLEM')].map(leaving)).pass)
    expect(deletion.faults).toMatchObject([{ codes: ['ERR_CONFIGURATION_PROBLEM'] }])
  })

  it('fails with the cycle instead of waiting forever (P2)', async () => {
    const { pass } = executionPass([pending('a', ['b']), pending('b', ['c']), pending('c', ['a']), succeeded('d')])
    const message = 'items could not be started because they depend on each other: a -> b -> c -> a'
    expect(await triggerDeployItems(pass)).toEqual(fail('CyclicDependencies', message))
  })

  it('runs the other items before it fails because of a cycle', async () => {
    const { pass, called } = executionPass([pending('a', ['b']), pending('b', ['a']), pending('free')])
    expect(await triggerDeployItems(pass)).toEqual(stop('waiting for free'))
    expect(called.triggered).toEqual(['free'])
  })

  it('waits for running items, and is done when all have succeeded', async () => {
    expect(await triggerDeployItems(executionPass([succeeded('a'), running('b')]).pass)).toEqual(stop('waiting for b'))
    expect(await triggerDeployItems(executionPass([succeeded('a')]).pass)).toEqual(done)
    expect(await triggerDeployItems(executionPass([]).pass)).toEqual(done)
  })

  it('waits for triggered items before it fails because of a rejected trigger', async () => {
    const failures = [{ object: 'exec-b', code: 'Forbidden', message: 'no', retryable: false }]
    const refused = (items: readonly DeployItemView[]) => ({
      act: { triggerDeployItems: () => Promise.resolve({ items, gone: [], failures }) },
    })
    const some = executionPass([pending('a'), pending('b')], refused([running('a')]))
    const reason = 'a deploy item could not be triggered; waiting for the running ones: a'
    expect(await triggerDeployItems(some.pass)).toEqual(stop(reason))
    expect(some.pass.state.deployItems.map(({ phase }) => phase)).toEqual(['Progressing', 'Succeeded'])

    const none = executionPass([pending('b')], refused([]))
    expect(await triggerDeployItems(none.pass)).toEqual(fail('Forbidden', 'exec-b: no'))
  })
})

describe('an execution in phase Deleting', () => {
  it('triggers the items without dependents, in reverse order', async () => {
    const { pass, called } = executionPass([pending('a'), pending('b', ['a']), pending('c', ['a'])].map(leaving))
    expect(await triggerDeletion(pass)).toEqual(stop('waiting for b, c to be uninstalled'))
    expect(called.triggered).toEqual(['b', 'c'])
  })

  it('releases items that no deployer ever picked up, at once and in any order (X3)', async () => {
    const untouched = ['a', 'b'].map((item) => ({ ...pending(item, ['c']), untouched: true }))
    const objects = [...untouched, pending('c', ['a']), pending('d', ['c'])].map(leaving)
    const { pass, called } = executionPass(objects)
    expect(await triggerDeletion(pass)).toEqual(stop('waiting for d to be uninstalled'))
    expect([called.released, called.triggered]).toEqual([['a', 'b'], ['d']])
  })

  it('is done at once if no deployer picked up the items of a cycle (X3)', async () => {
    const cycle = [pending('a', ['b']), served(pending('b', ['a']))].map((item) => ({ ...item, untouched: true }))
    const { pass, called } = executionPass(cycle.map(leaving))
    expect(await triggerDeletion(pass)).toEqual(done)
    expect([called.released, called.triggered]).toEqual([['a', 'b'], []])
  })

  it('uninstalls the rest of a partly released cycle, also while other finalizers keep the released items', async () => {
    const held = { ...pending('b', ['a']), untouched: true, finalizers: ['theirs'] }
    const { pass, called } = executionPass([pending('a', ['b']), held].map(leaving))
    expect(await triggerDeletion(pass)).toEqual(stop('waiting for a to be uninstalled'))
    expect([called.released, called.triggered]).toEqual([[], ['a']])
  })

  it('releases items that were never picked up if another item could not be uninstalled', async () => {
    const { pass, called } = executionPass([failed('a'), { ...pending('b', ['a']), untouched: true }].map(leaving))
    expect((await triggerDeletion(pass)).faults).toMatchObject([{ code: 'DeployItemsNotDeleted' }])
    expect(called.released).toEqual(['b'])
  })

  it('does not release an item whose first attempt is running', async () => {
    const begun = leaving({ ...slow(pending('a')), untouched: true })
    const { pass, called, tracks } = executionPass([begun])
    tracks.start(begun.uid, () => Promise.reject(new Error('is never asked')))
    await triggerDeletion(pass)
    expect(called.released).toEqual([])
  })

  it('waits for released items with finalizers of other controllers', async () => {
    const held = { ...leaving(pending('a')), untouched: true, finalizers: [FINALIZER, 'theirs'] }
    let released = 0
    const releaseDeployItems = () => {
      if (++released > 1) throw new Error('was let go already')
      return Promise.resolve(wrote([{ ...held, finalizers: ['theirs'] }]))
    }
    const { pass, called } = executionPass([held], { act: { releaseDeployItems } })
    expect(await triggerDeletion(pass)).toEqual(stop('waiting for a to be uninstalled'))
    expect(await triggerDeletion(pass)).toEqual(stop('waiting for a to be uninstalled'))
    expect(called.triggered).toEqual([])
  })

  it('waits for running deploy items before it fails (X1)', async () => {
    const { pass, called } = executionPass([failed('a'), running('b'), pending('c')])
    expect(await triggerDeletion(pass)).toEqual(
      stop('a deploy item could not be uninstalled; waiting for the running ones: b'),
    )
    expect(called.triggered).toEqual([])
    const rest = executionPass([failed('a'), pending('c')])
    expect(await triggerDeletion(rest.pass)).toEqual(
      fail('DeployItemsNotDeleted', 'deploy items could not be uninstalled: a'),
    )
  })

  it('fails with the cycle and the way out if the remaining items depend on each other (X2)', async () => {
    const { pass } = executionPass([pending('a', ['b']), pending('b', ['a'])])
    const outcome = await triggerDeletion(pass)
    expect(outcome.faults).toMatchObject([{ code: 'CyclicDependencies', retryable: false }])
    expect(outcome.faults[0]?.message).toMatch(
      /: a -> b -> a; annotate what was deleted, the root or this execution alone, with \S+\/delete-without-uninstall: "true"/,
    )
  })

  it('releases all items at once if nothing is to be uninstalled', async () => {
    const { pass, called } = executionPass([pending('a', ['b']), pending('b', ['a'])], {
      target: { withoutUninstall: true },
    })
    expect(await triggerDeletion(pass)).toEqual(done)
    expect(called.released).toEqual(['a', 'b'])
    expect(pass.state.deployItems).toEqual([])
  })

  it('is done if no item is left', async () => {
    expect(await triggerDeletion(executionPass([]).pass)).toEqual(done)
  })
})

const NAMES = Array.from({ length: 8 }, (_, index) => `n${index}`)

/** Handed the job ID, deployed at once, or on a track. */
const ofType = fc.constantFrom((item: DeployItemView) => item, served, slow)

const rowsOf = (row: fc.Arbitrary<readonly string[]>) =>
  fc.array(fc.tuple(row, ofType), { minLength: 1, maxLength: NAMES.length })

/** A graph without cycles: items depend on earlier ones only. */
const acyclic = rowsOf(fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 3 })).map((rows) =>
  rows.map(([dependsOn, typed], index) =>
    typed(
      pending(
        NAMES[index] ?? '',
        dependsOn.filter((one) => NAMES.indexOf(one) < index),
      ),
    ),
  ),
)

const anyGraph = rowsOf(fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 3 })).map((rows) =>
  rows.map(([dependsOn, typed], index) =>
    typed(
      pending(
        NAMES[index] ?? '',
        dependsOn.filter((one) => NAMES.indexOf(one) < rows.length),
      ),
    ),
  ),
)

interface Run {
  /** Items in the order in which they began. */
  readonly triggered: readonly string[]
  readonly end: Outcome
  /** `trigger x` and `finish x`, as they came. */
  readonly events: readonly string[]
}

/** Runs passes until one does not stop; after each, `choose` picks the running item that finishes. Bounded, so that waiting for ever shows. */
async function simulate(
  given: readonly DeployItemView[],
  step: typeof triggerDeletion,
  choose: (count: number) => number,
  isDeletion: boolean,
): Promise<Run> {
  const events: string[] = []
  const triggered: string[] = []
  const items = isDeletion ? given.map(leaving) : given
  const { type: quick } = served(pending(''))
  const begins = (begun: readonly DeployItemView[]) => {
    triggered.push(...begun.map(({ item }) => item))
    events.push(...begun.map(({ item }) => `trigger ${item}`))
    events.push(...begun.filter(({ type }) => type === quick).map(({ item }) => `finish ${item}`))
  }
  const { pass, tracks } = executionPass(items, { begins })
  for (let look = 0; look <= 2 * items.length; look++) {
    const end = await step(pass)
    if (end.stopped === undefined) return { triggered, end, events }
    const active = pass.state.deployItems.filter(
      ({ uid, jobID, jobIDFinished }) => tracks.has(uid) || (jobID === JOB && jobIDFinished !== JOB),
    )
    const finished = active[choose(active.length)]
    if (finished === undefined) throw new Error(`waits for nothing: ${end.stopped}`)
    tracks.held.delete(finished.uid)
    events.push(`finish ${finished.item}`)
    const others = pass.state.deployItems.filter((one) => one !== finished)
    const after = { ...finished, jobID: JOB, jobIDFinished: JOB, phase: 'Succeeded' }
    pass.state = { ...pass.state, deployItems: isDeletion ? others : [...others, after] }
  }
  throw new Error('does not come to an end')
}

const choices = fc.infiniteStream(fc.nat()).map((stream) => (count: number) => {
  const [choice] = stream.take(1)
  return (choice ?? 0) % Math.max(1, count)
})

describe('a run over any graph', () => {
  it('triggers every item exactly once, and never before its predecessors have finished', async () => {
    await fc.assert(
      fc.asyncProperty(acyclic, choices, async (items, choose) => {
        const { triggered, end, events } = await simulate(items, triggerDeployItems, choose, false)
        expect(end).toEqual(done)
        expect(triggered.toSorted()).toEqual(items.map(({ item }) => item).toSorted())
        for (const { item, dependsOn } of items)
          for (const name of dependsOn)
            expect(events.indexOf(`finish ${name}`)).toBeLessThan(events.indexOf(`trigger ${item}`))
      }),
    )
  })

  it('deletes every item exactly once, and never before its successors are deleted', async () => {
    await fc.assert(
      fc.asyncProperty(acyclic, choices, async (items, choose) => {
        const { triggered, end, events } = await simulate(items, triggerDeletion, choose, true)
        expect(end).toEqual(done)
        expect(triggered.toSorted()).toEqual(items.map(({ item }) => item).toSorted())
        for (const { item, dependsOn } of items)
          for (const name of dependsOn)
            expect(events.indexOf(`trigger ${name}`)).toBeGreaterThan(events.indexOf(`finish ${item}`))
      }),
    )
  })

  it.each([
    ['forward', triggerDeployItems, false],
    ['back', triggerDeletion, true],
  ] as const)('comes to an end with cycles too, %s: done, or the fault that names one', async (_, step, isDeletion) => {
    await fc.assert(
      fc.asyncProperty(anyGraph, choices, async (items, choose) => {
        const { triggered, end } = await simulate(items, step, choose, isDeletion)
        const codes = end.faults.map(({ code, retryable }) => [code, retryable])
        if (triggered.length === items.length) expect(codes).toEqual([])
        else expect(codes).toEqual([['CyclicDependencies', false]])
        expect(new Set(triggered).size).toBe(triggered.length)
      }),
    )
  })
})
