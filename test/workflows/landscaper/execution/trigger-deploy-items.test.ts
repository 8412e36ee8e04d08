// How the passes of an Execution start, wait for and end its DeployItems, forward and in its deletion. Items of types
// that Pawl handles are deployed in the pass; items of other types get the job ID, and a condition names their deployers.

import { describe, expect, it } from 'vitest'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import type { QuickItemsInput } from '../../../../activities/landscaper/deploy/run/answer-items.ts'
import { again, done, fail, joinOutcomes, type Outcome, stop } from '../../../../workflows/kit/index.ts'
import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { triggerDeletion } from '../../../../workflows/landscaper/execution/delete-items.ts'
import type { ExecutionPass } from '../../../../workflows/landscaper/execution/pass.ts'
import { executionPlan } from '../../../../workflows/landscaper/execution/plan.ts'
import { startItems } from '../../../../workflows/landscaper/execution/start-items.ts'
import {
  nameDeployers,
  resetDeployersCondition,
  triggerDeployItems,
} from '../../../../workflows/landscaper/execution/trigger-deploy-items.ts'
import {
  busy,
  type Called,
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

type Row = readonly [
  title: string,
  items: readonly DeployItemView[],
  outcome: Outcome,
  called?: Partial<Called>,
  given?: Parameters<typeof executionPass>[1],
]

const runs =
  (step: (pass: ExecutionPass) => Promise<Outcome>) =>
  async ([, items, outcome, called = {}, given]: Row) => {
    const { pass, called: found } = executionPass(items, given)
    expect(await step(pass)).toEqual(outcome)
    expect(found).toMatchObject(called)
  }

const NOTHING = { triggered: [], deployed: [], sent: [] }
const REFUSAL = { object: 'exec-b', code: 'Forbidden', message: 'no', retryable: false }
/** The server rejects the trigger of `b`, permanently. */
const refusing = (...triggered: readonly DeployItemView[]) => ({
  act: { triggerDeployItems: () => Promise.resolve({ ...wrote(triggered), failures: [REFUSAL] }) },
})
const refusal = fail('Forbidden', 'exec-b: no')
const couldNot = stop('Pawl could not start a deploy item; waiting for the running items: a')
const untouched = (item: DeployItemView) => ({ ...item, untouched: true })
const itemsFailed = (text: string) => fail('DeployItemsFailed', text)
const QUICK = served(pending('')).type

describe('items that are started', () => {
  const all = [served(pending('a')), slow(pending('b')), pending('c')]
  it.for<Row>([
    [
      'are hosted if their type is handled here, and otherwise get the job ID',
      all,
      done,
      { triggered: ['c'], deployed: ['hosted: a'], sent: ['hosted: b'] },
    ],
    [
      'get the job ID if another worker handles their type',
      all,
      done,
      { triggered: ['b', 'c'], deployed: ['hosted: a'], sent: [] },
      { serves: [QUICK] },
    ],
    ['are not changed while they run a job of another execution', all.map(busy), done, NOTHING],
    [
      'continue if they have the job, and get the job ID once',
      [served(running('a')), slow(running('b')), running('c')],
      done,
      { triggered: [], deployed: ['hosted: a'], sent: ['hosted: b'] },
    ],
  ])(
    '%s',
    runs((pass) => startItems(pass, pass.state.deployItems)),
  )
})

describe('an execution in phase Progressing', () => {
  const chain = [pending('a'), pending('b', ['a']), pending('c', ['b']), pending('free')]
  const failing = { deployMockItems: () => Promise.resolve({ items: [served(failed('a'))], gone: [], failures: [] }) }
  it.for<Row>([
    [
      'triggers exactly the items without unfinished predecessors',
      [pending('a'), pending('b'), pending('c', ['a'])],
      stop('waiting for a, b'),
      { triggered: ['a', 'b'] },
    ],
    [
      'triggers an item when its last predecessor has finished, while others run',
      [succeeded('a'), succeeded('b'), pending('c', ['a', 'b']), running('d')],
      stop('waiting for c, d'),
      { triggered: ['c'] },
    ],
    [
      'waits for running deploy items before it fails (P1)',
      [failed('db'), running('cache'), pending('app')],
      stop('a deploy item failed; waiting for the running items: cache'),
      { triggered: [] },
    ],
    [
      'fails if items failed or are missing, and nothing runs',
      [failed('db'), pending('app', ['db'])],
      itemsFailed('deploy items "db", "lost" failed'),
      {},
      { target: { items: ['db', 'app', 'lost'].map((name) => ({ name, type: THEIRS, dependsOn: [] })) } },
    ],
    [
      'fails if an item that the spec names is deleted',
      [leaving(succeeded('a'))],
      itemsFailed('deploy item "a" failed'),
    ],
    [
      'names the errors of at most three items',
      [failed('z'), ...['a', 'b', 'c', 'd'].map((name) => ({ ...failed(name), error: `no ${name}` }))],
      itemsFailed('deploy items "z", "a", "b", "c", "d" failed: "a": no a | "b": no b | "c": no c'),
    ],
    [
      'fails with the cycle instead of waiting forever (P2)',
      [pending('a', ['b']), pending('b', ['c']), pending('c', ['a']), succeeded('d')],
      fail(
        'CyclicDependencies',
        'deploy items depend on each other: a -> b -> c -> a; remove one of these dependencies',
      ),
    ],
    [
      'runs the other items before it fails because of a cycle',
      [pending('a', ['b']), pending('b', ['a']), pending('free')],
      stop('waiting for free'),
      { triggered: ['free'] },
    ],
    ['waits for running items', [succeeded('a'), running('b')], stop('waiting for b')],
    ['is done when all have succeeded', [succeeded('a')], done],
    ['is done without items', [], done],
    [
      'deploys levels of handled types in one pass, each after the previous level',
      chain.map(served),
      done,
      { deployed: ['hosted: a, free', 'hosted: b', 'hosted: c'] },
    ],
    [
      'ends its pass at an item of another deployer',
      [served(pending('a')), pending('b', ['a']), served(pending('c', ['b']))],
      stop('waiting for b'),
      { triggered: ['b'], deployed: ['hosted: a'] },
    ],
    [
      'starts no level after a failed item',
      [pending('a'), pending('b', ['a'])].map(served),
      itemsFailed('deploy item "a" failed'),
      {},
      { act: failing },
    ],
    [
      'waits for an item with another job',
      [served(busy(pending('a'))), served(pending('b', ['a']))],
      stop('waiting for a'),
      NOTHING,
    ],
    [
      'waits for triggered items before it fails because of a rejected trigger',
      [pending('a'), pending('b')],
      couldNot,
      {},
      refusing(running('a')),
    ],
    [
      'waits for a background activity before it fails because of a rejected trigger',
      [slow(pending('a')), pending('b')],
      couldNot,
      {},
      refusing(),
    ],
    [
      'fails because of a rejected trigger if nothing runs, and starts no further level',
      [served(pending('a')), pending('b'), served(pending('c', ['a']))],
      refusal,
      { deployed: ['hosted: a'] },
      refusing(),
    ],
  ])('%s', runs(triggerDeployItems))

  it('does not start an item again while its background activity runs', async () => {
    const { pass, called } = executionPass([slow(pending('a')), served(pending('b', ['a']))])
    expect(await triggerDeployItems(pass)).toEqual(stop('waiting for a'))
    expect(await triggerDeployItems(pass)).toEqual(stop('waiting for a'))
    expect(called.sent).toEqual(['hosted: a'])
  })

  it('reports the distinct codes of failed items', async () => {
    const coded = (item: string, ...codes: string[]) => ({ ...failed(item), codes })
    const items = [coded('a', 'ERR_TIMEOUT'), coded('b', 'ERR_TIMEOUT', 'ERR_UNAUTHORIZED'), failed('c')]
    const { faults } = await triggerDeployItems(executionPass(items).pass)
    expect(faults).toMatchObject([{ code: 'DeployItemsFailed', codes: ['ERR_TIMEOUT', 'ERR_UNAUTHORIZED'] }])
    expect(executionPlan.report?.('Progressing', faults).codes).toEqual(['ERR_TIMEOUT', 'ERR_UNAUTHORIZED'])
    const deletion = await triggerDeletion(executionPass([coded('a', 'ERR_CONFIGURATION_PROBLEM')].map(leaving)).pass)
    expect(deletion.faults).toMatchObject([{ codes: ['ERR_CONFIGURATION_PROBLEM'] }])
  })

  it('deploys a waiting item once per pass, and schedules a pass at its timeout', async () => {
    const waiting = { ...served(running('a')), remainingMs: 7000 }
    const asked: (readonly string[])[] = []
    const deployMockItems = ({ items: given }: Pick<QuickItemsInput, 'items'>) => {
      asked.push(given.map(({ item }) => item))
      const items = given.map(({ item }) => (item === 'a' ? waiting : served(succeeded(item))))
      return Promise.resolve({ items, gone: [], failures: [] })
    }
    const items = [waiting, served(pending('b')), served(pending('c', ['b']))]
    const { pass } = executionPass(items, { act: { deployMockItems } })
    expect(await triggerDeployItems(pass)).toEqual(joinOutcomes(stop('waiting for a'), again(7000)))
    expect(asked).toEqual([['a', 'b'], ['c']])
  })

  it('retries a transient failure in a later pass, and delays no other item', async () => {
    const FAILURE = { object: 'exec-a', code: 'Busy', message: 'later' }
    const deployMockItems = ({ items: given }: Pick<QuickItemsInput, 'items'>) => {
      const others = given.filter(({ item }) => item !== 'a')
      const failures = others.length < given.length ? [FAILURE] : []
      return Promise.resolve({ items: others.map(({ item }) => served(succeeded(item))), gone: [], failures })
    }
    const items = [pending('a'), pending('b'), pending('c', ['b']), pending('d', ['a'])].map(served)
    const { pass } = executionPass(items, { act: { deployMockItems } })
    const { faults } = await triggerDeployItems(pass)
    expect(faults).toEqual([{ code: 'Busy', message: 'exec-a: later', retryable: true }])
    const ended = pass.state.deployItems.filter(({ jobIDFinished }) => jobIDFinished === JOB)
    expect(ended.map(({ item }) => item)).toEqual(['b', 'c'])
  })
})

describe('an execution in phase Deleting', () => {
  const waitingFor = (names: string) => stop(`waiting until these deploy items are uninstalled: ${names}`)
  const notDeleted = fail('DeployItemsNotDeleted', 'Pawl could not uninstall a')
  const cycle = [pending('a', ['b']), pending('b', ['a'])]
  const rows: readonly Row[] = [
    [
      'triggers the items without dependents, in reverse order',
      [pending('a'), pending('b', ['a']), pending('c', ['a'])],
      waitingFor('b, c'),
      { triggered: ['b', 'c'] },
    ],
    [
      'uninstalls levels of handled types in one pass, in reverse order',
      [pending('a'), pending('b', ['a']), pending('c', ['b'])].map(served),
      done,
      { deployed: ['hosted: c', 'hosted: b', 'hosted: a'] },
    ],
    [
      'releases items that no deployer ever picked up, at once and in any order (X3)',
      [...['a', 'b'].map((item) => untouched(pending(item, ['c']))), pending('c', ['a']), pending('d', ['c'])],
      waitingFor('d'),
      { released: ['a', 'b'], triggered: ['d'] },
    ],
    [
      'is done at once if no deployer picked up the items of a cycle (X3)',
      [pending('a', ['b']), served(pending('b', ['a']))].map(untouched),
      done,
      { released: ['a', 'b'], triggered: [] },
    ],
    [
      'uninstalls the rest of a partly released cycle, also while other finalizers keep the released items',
      [pending('a', ['b']), { ...untouched(pending('b', ['a'])), finalizers: ['theirs'] }],
      waitingFor('a'),
      { released: [], triggered: ['a'] },
    ],
    [
      'releases items that were never picked up if another item could not be uninstalled',
      [failed('a'), untouched(pending('b', ['a']))],
      notDeleted,
      { released: ['b'] },
    ],
    [
      'waits for running deploy items before it fails (X1)',
      [failed('a'), running('b'), pending('c')],
      stop('Pawl could not uninstall a deploy item; waiting for the running items: b'),
      { triggered: [] },
    ],
    ['fails if nothing runs', [failed('a'), pending('c')], notDeleted],
    [
      'waits for running items before it fails because of a rejected trigger',
      [running('a'), pending('b')],
      stop('Pawl could not start to uninstall a deploy item; waiting for the running items: a'),
      {},
      refusing(),
    ],
    ['fails because of a rejected trigger if nothing runs', [pending('b')], refusal, {}, refusing()],
    [
      'releases all items at once if nothing is to be uninstalled',
      cycle,
      done,
      { released: ['a', 'b'] },
      { target: { withoutUninstall: true } },
    ],
    ['is done if no item is left', [], done],
  ]
  it.for(rows)('%s', async ([title, items, ...rest]) => {
    await runs(triggerDeletion)([title, items.map(leaving), ...rest])
  })

  it('does not release an item whose first attempt is running', async () => {
    const begun = leaving(untouched(slow(pending('a'))))
    const { pass, called, tracks } = executionPass([begun])
    tracks.start(begun.uid, () => Promise.reject(new Error('is never asked')))
    await triggerDeletion(pass)
    expect(called.released).toEqual([])
  })

  it('waits for released items with finalizers of other controllers', async () => {
    const held = { ...leaving(untouched(pending('a'))), finalizers: [FINALIZER, 'theirs'] }
    const released: string[] = []
    const releaseDeployItems = () => {
      released.push('a')
      return Promise.resolve(wrote([{ ...held, finalizers: ['theirs'] }]))
    }
    const { pass, called } = executionPass([held], { act: { releaseDeployItems } })
    expect(await triggerDeletion(pass)).toEqual(waitingFor('a'))
    expect(await triggerDeletion(pass)).toEqual(waitingFor('a'))
    expect([released, called.triggered]).toEqual([['a'], []])
  })

  it('fails with the cycle and the way out if the remaining items depend on each other (X2)', async () => {
    const outcome = await triggerDeletion(executionPass(cycle).pass)
    expect(outcome.faults).toMatchObject([{ code: 'CyclicDependencies', retryable: false }])
    expect(outcome.faults[0]?.message).toMatch(
      /depend on each other: a -> b -> a; .* annotate the object that you deleted with \S+\/delete-without-uninstall: "true"/,
    )
  })
})

const builtIn = { ...succeeded('a'), type: 'landscaper.gardener.cloud/mock' }
const foreign = { ...succeeded('b'), type: 'example.com/theirs' }
const released = [expect.objectContaining({ type: 'DeployItemsFinished', status: 'True', reason: 'JobFinished' })]

describe('the condition DeployItemsFinished at the beginning of the phase', () => {
  const target = { phase: 'Init' }
  const named = (pass: ReturnType<typeof executionPass>['pass']) => {
    nameDeployers(pass)
    return pass.draft.conditions.map(({ message }) => message)
  }
  const theirs = { ...pending('b'), type: 'example.com/theirs' }
  const ours = slow(pending('c'))

  it('names items with external deployers, and no items that Pawl deploys', () => {
    expect(named(executionPass([builtIn, ours, theirs], { target }).pass)).toEqual([
      'items whose deployers are not part of Pawl: b (example.com/theirs); each item waits for the deployer of its type',
    ])
  })

  it('names items for workers that serve other types', () => {
    const serves = [builtIn.type]
    const elsewhere = `items for workers that serve their types (--deployers): c (${ours.type})`
    expect(named(executionPass([builtIn, ours], { target, serves }).pass)).toEqual([
      `${elsewhere}; each item waits for the deployer of its type`,
    ])
    expect(named(executionPass([ours, theirs], { target, serves }).pass)).toEqual([
      `items whose deployers are not part of Pawl: b (example.com/theirs); ${elsewhere}; each item waits for the deployer of its type`,
    ])
  })
})

describe('the condition DeployItemsFinished at the end of the phase', () => {
  it('is True if items with external deployers exist', () => {
    const { pass } = executionPass([builtIn, foreign])
    resetDeployersCondition(pass)
    expect(pass.draft.conditions).toEqual(released)
  })

  it('is True if the item that it named is gone', () => {
    const { pass } = executionPass([builtIn], { target: { namesDeployers: true } })
    resetDeployersCondition(pass)
    expect(pass.draft.conditions).toEqual(released)
  })

  it('is not written if the execution waited for no deployer', () => {
    const { pass } = executionPass([builtIn], { target: { namesDeployers: false } })
    resetDeployersCondition(pass)
    expect(pass.draft.conditions).toEqual([])
  })
})
