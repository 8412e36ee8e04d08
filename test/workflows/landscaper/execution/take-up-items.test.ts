// Tests how the passes of an Execution start its DeployItems: they deploy items of types that Pawl handles, and write
// the job ID into items of other types.

import { describe, expect, it } from 'vitest'
import type { QuickItemsInput } from '../../../../activities/landscaper/deploy/run/answer-items.ts'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import { again, done, fail, joinOutcomes, stop } from '../../../../workflows/kit/index.ts'
import { cleanUpOrphans } from '../../../../workflows/landscaper/execution/clean-up-orphans.ts'
import { startItems } from '../../../../workflows/landscaper/execution/start-items.ts'
import { triggerDeletion } from '../../../../workflows/landscaper/execution/delete-items.ts'
import { triggerDeployItems } from '../../../../workflows/landscaper/execution/trigger-deploy-items.ts'
import {
  busy,
  executionPass,
  failed,
  JOB,
  leaving,
  pending,
  running,
  served,
  slow,
  succeeded,
  wrote,
} from './execution-pass.ts'

const REFUSAL = { object: 'exec-b', code: 'Forbidden', message: 'no', retryable: false }
const refused = { triggerDeployItems: () => Promise.resolve({ ...wrote([]), failures: [REFUSAL] }) }
const refusal = fail('Forbidden', 'exec-b: no')

/** The started items, with the way in which they started. */
const begun = ({ triggered, deployed, sent }: ReturnType<typeof executionPass>['called']) => [
  ...(triggered.length === 0 ? [] : [`triggered: ${triggered.join(', ')}`]),
  ...deployed,
  ...sent,
]

describe('items that are started', () => {
  it('are hosted if their type is handled here, and otherwise get the job ID', async () => {
    const given = executionPass([served(pending('a')), slow(pending('b')), pending('c')])
    expect(await startItems(given.pass, given.pass.state.deployItems)).toEqual(done)
    expect(begun(given.called)).toEqual(['triggered: c', 'hosted: a', 'hosted: b'])
    expect([...given.tracks.held.keys()]).toEqual(['uid-b'])
  })

  it('get the job ID if another worker handles their type', async () => {
    const serves = [served(pending('a')).type]
    const given = executionPass([served(pending('a')), slow(pending('b')), pending('c')], { serves })
    expect(await startItems(given.pass, given.pass.state.deployItems)).toEqual(done)
    expect(begun(given.called)).toEqual(['triggered: b, c', 'hosted: a'])
    expect([...given.tracks.held.keys()]).toEqual([])
  })

  it('are not changed while they run a job of another execution', async () => {
    const items = [served(busy(pending('a'))), slow(busy(pending('b'))), busy(pending('c'))]
    const { pass, called } = executionPass(items)
    expect(await startItems(pass, items)).toEqual(done)
    expect(begun(called)).toEqual([])
  })

  it('continue if they have the job, and get the job ID once', async () => {
    const items = [served(running('a')), slow(running('b')), running('c')]
    const { pass, called } = executionPass(items)
    await startItems(pass, items)
    expect(begun(called)).toEqual(['hosted: a', 'hosted: b'])
  })
})

describe('levels of items of handled types', () => {
  it('run in one pass, each after the previous level has succeeded', async () => {
    const items = [pending('a'), pending('b', ['a']), pending('c', ['b']), pending('free')].map(served)
    const { pass, called } = executionPass(items)
    expect(await triggerDeployItems(pass)).toEqual(done)
    expect(called.deployed).toEqual(['hosted: a, free', 'hosted: b', 'hosted: c'])
    expect(pass.state.deployItems.map(({ jobIDFinished }) => jobIDFinished)).toEqual([JOB, JOB, JOB, JOB])
  })

  it('are uninstalled in one pass, in reverse order', async () => {
    const items = [pending('a'), pending('b', ['a']), pending('c', ['b'])].map(served).map(leaving)
    const { pass, called } = executionPass(items)
    expect(await triggerDeletion(pass)).toEqual(done)
    expect(called.deployed).toEqual(['hosted: c', 'hosted: b', 'hosted: a'])
    expect(pass.state.deployItems).toEqual([])
  })

  it('end at an item of another deployer', async () => {
    const { pass, called } = executionPass([served(pending('a')), pending('b', ['a']), served(pending('c', ['b']))])
    expect(await triggerDeployItems(pass)).toEqual(stop('waiting for b'))
    expect(begun(called)).toEqual(['triggered: b', 'hosted: a'])
  })

  it('end at an item that takes long, which is not started again while its background activity runs', async () => {
    const { pass, called } = executionPass([slow(pending('a')), served(pending('b', ['a']))])
    expect(await triggerDeployItems(pass)).toEqual(stop('waiting for a'))
    expect(await triggerDeployItems(pass)).toEqual(stop('waiting for a'))
    expect(begun(called)).toEqual(['hosted: a'])
  })

  it('end at a failed item', async () => {
    const items = [pending('a'), pending('b', ['a'])].map(served)
    const act = {
      deployMockItems: () => Promise.resolve({ items: [served(failed('a'))], gone: [], failures: [] }),
    }
    const outcome = await triggerDeployItems(executionPass(items, { act }).pass)
    expect(outcome).toEqual(fail('DeployItemsFailed', 'has failed or missing deploy items: a'))
  })

  it('wait for an item with another job', async () => {
    const { pass, called } = executionPass([served(busy(pending('a'))), served(pending('b', ['a']))])
    expect(await triggerDeployItems(pass)).toEqual(stop('waiting for a'))
    expect(begun(called)).toEqual([])
  })
})

describe('an item that keeps waiting', () => {
  const waiting = { ...served(running('a')), remainingMs: 7000 }
  const waits = (asked: (readonly string[])[]) => ({
    deployMockItems: ({ items: given }: Pick<QuickItemsInput, 'items'>) => {
      asked.push(given.map(({ item }) => item))
      const items = given.map(({ item }) => (item === 'a' ? waiting : served(succeeded(item))))
      return Promise.resolve({ items, gone: [], failures: [] })
    },
  })

  it('is deployed once per pass, and gets a pass at its timeout', async () => {
    const asked: (readonly string[])[] = []
    const items = [waiting, served(pending('b')), served(pending('c', ['b']))]
    const { pass } = executionPass(items, { act: waits(asked) })
    expect(await triggerDeployItems(pass)).toEqual(joinOutcomes(stop('waiting for a'), again(7000)))
    expect(asked).toEqual([['a', 'b'], ['c']])
  })
})

describe('a transient failure', () => {
  const FAILURE = { object: 'exec-a', code: 'Busy', message: 'later' }
  const act = {
    deployMockItems: ({ items }: Pick<QuickItemsInput, 'items'>) =>
      Promise.resolve({
        gone: [],
        failures: items.some(({ item }) => item === 'a') ? [FAILURE] : [],
        items: items.filter(({ item }) => item !== 'a').map(({ item }) => served(succeeded(item))),
      }),
  }

  it('delays no other item, and is retried in a later pass', async () => {
    const items = [pending('a'), pending('b'), pending('c', ['b']), pending('d', ['a'])].map(served)
    const { pass } = executionPass(items, { act })
    const { faults } = await triggerDeployItems(pass)
    expect(faults).toEqual([{ code: 'Busy', message: 'exec-a: later', retryable: true }])
    const ended = pass.state.deployItems.filter(({ jobIDFinished }) => jobIDFinished === JOB)
    expect(ended.map(({ item }) => item)).toEqual(['b', 'c'])
  })
})

describe('a trigger that the server rejects permanently', () => {
  const at = (items: readonly DeployItemView[]) => executionPass(items, { act: refused })
  const couldNot = (item: string) => stop(`a deploy item could not be triggered; waiting for the running ones: ${item}`)

  it.each([
    ['on its track', slow(pending('a'))],
    ['at its deployer', running('a')],
  ])('fails the phase after running items have finished', async (_, item) => {
    expect(await triggerDeployItems(at([item, pending('b')]).pass)).toEqual(couldNot('a'))
    expect(await triggerDeletion(at([item, pending('b')].map(leaving)).pass)).toEqual(couldNot('a'))
  })

  it('fails the phase if nothing runs, and starts no further level', async () => {
    const forward = at([served(pending('a')), pending('b'), served(pending('c', ['a']))])
    expect(await triggerDeployItems(forward.pass)).toEqual(refusal)
    expect(forward.called.deployed).toEqual(['hosted: a'])
    expect(await triggerDeletion(at([leaving(pending('b'))]).pass)).toEqual(refusal)
  })
})

describe('orphans', () => {
  const orphaned = (items: readonly DeployItemView[], act = {}) => executionPass(items, { target: { items: [] }, act })
  const waitingFor = (item: string) => stop(`waiting for orphaned deploy items to be uninstalled: ${item}`)

  it('of handled types are uninstalled in the pass', async () => {
    const { pass, called } = orphaned([leaving(served(pending('a'))), leaving(served(pending('b', ['a'])))])
    expect(await cleanUpOrphans(pass)).toEqual(done)
    expect(begun(called)).toEqual(['hosted: a, b'])
    expect(pass.state.deployItems).toEqual([])
  })

  it('that failed fail the phase after the others and running items have finished', async () => {
    const old = leaving(failed('old'))
    expect(await cleanUpOrphans(orphaned([old, leaving(running('other'))]).pass)).toEqual(waitingFor('other'))
    const kept = { items: [{ name: 'kept', type: slow(pending('kept')).type, dependsOn: [] }] }
    const beside = executionPass([old, slow(running('kept'))], { target: kept })
    expect(await cleanUpOrphans(beside.pass)).toEqual(waitingFor('kept'))
  })

  it('do not stop items that run meanwhile', async () => {
    const kept = [served(pending('quick')), slow(pending('long'))]
    const items = kept.map(({ item: name, type }) => ({ name, type, dependsOn: [] }))
    const objects = [leaving(running('old')), served(running('quick')), slow(running('long'))]
    const { pass, called } = executionPass(objects, { target: { items } })
    expect(await cleanUpOrphans(pass)).toEqual(waitingFor('old, long'))
    expect(begun(called)).toEqual(['hosted: quick', 'hosted: long'])
  })

  it('whose trigger is rejected permanently fail the phase after the others', async () => {
    const beside = orphaned([leaving(running('a')), leaving(pending('b'))], refused)
    expect(await cleanUpOrphans(beside.pass)).toEqual(waitingFor('a, b'))
    expect(await cleanUpOrphans(orphaned([leaving(pending('b'))], refused).pass)).toEqual(refusal)
  })

  it('whose trigger is rejected wait for items whose background activity has not made its first write', async () => {
    const { pass } = orphaned([leaving(slow(pending('a'))), leaving(pending('b'))], refused)
    expect(await cleanUpOrphans(pass)).toEqual(waitingFor('a, b'))
  })

  it('with another unfinished job are waited for', async () => {
    const { pass, called } = orphaned([leaving(busy(served(pending('a'))))])
    expect(await cleanUpOrphans(pass)).toEqual(waitingFor('a'))
    expect(begun(called)).toEqual([])
  })
})
