// Items that the spec no longer names, and deleted items: a job uninstalls them before it starts others. Items whose
// cluster was removed: release-of-removed.test.ts.

import { describe, expect, it } from 'vitest'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import { done, fail, type Outcome, stop } from '../../../../workflows/kit/index.ts'
import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { cleanUpOrphans } from '../../../../workflows/landscaper/execution/clean-up-orphans.ts'
import {
  busy,
  type Called,
  executionPass,
  failed,
  leaving,
  pending,
  running,
  served,
  slow,
  wrote,
} from './execution-pass.ts'

const kept = (...items: readonly DeployItemView[]) => ({
  target: { items: items.map(({ item: name, type }) => ({ name, type, dependsOn: [] })) },
})
const NONE = kept()
const failures = [{ object: 'exec-b', code: 'Forbidden', message: 'no', retryable: false }]
const refused = { ...NONE, act: { triggerDeployItems: () => Promise.resolve({ ...wrote([]), failures }) } }
const waitingFor = (names: string) => stop(`waiting until these orphaned deploy items are uninstalled: ${names}`)
const [quick, long] = [served(running('quick')), slow(running('long'))]

describe('orphaned items', () => {
  it.for<readonly [string, readonly DeployItemView[], Outcome, Partial<Called>, Parameters<typeof executionPass>[1]]>([
    [
      'do not exist if the spec names every object',
      [pending('a')],
      done,
      { deleted: [], triggered: [] },
      kept(pending('a')),
    ],
    [
      'are all triggered at once, regardless of dependencies, and waited for',
      [leaving(pending('old')), leaving(pending('older', ['old']))],
      waitingFor('old, older'),
      { triggered: ['old', 'older'] },
      NONE,
    ],
    [
      'are deleted first if an edit removed them from the spec during the job',
      [pending('old')],
      waitingFor('old'),
      { deleted: ['old'], triggered: ['old'] },
      NONE,
    ],
    ['are triggered once', [leaving(running('old'))], waitingFor('old'), { triggered: [] }, NONE],
    [
      'are released at once if no deployer ever picked them up',
      [{ ...leaving(pending('misspelt')), untouched: true }, leaving(pending('old'))],
      waitingFor('old'),
      { released: ['misspelt'], triggered: ['old'] },
      NONE,
    ],
    [
      'fail the job if the remaining ones could not be uninstalled',
      [leaving(failed('old'))],
      fail('OrphanedDeployItems', 'Pawl could not uninstall the orphaned deploy items old'),
      {},
      NONE,
    ],
    [
      'are released if the execution is deleted without uninstalling',
      [leaving(pending('old'))],
      done,
      { triggered: [], deleted: [], released: ['old'] },
      { target: { items: [], withoutUninstall: true } },
    ],
    [
      'of handled types are uninstalled in the pass',
      [leaving(served(pending('a'))), leaving(served(pending('b', ['a'])))],
      done,
      { deployed: ['hosted: a, b'] },
      NONE,
    ],
    [
      'that failed fail the phase after the others have finished',
      [leaving(failed('old')), leaving(running('other'))],
      waitingFor('other'),
      {},
      NONE,
    ],
    [
      'that failed fail the phase after running items have finished',
      [leaving(failed('old')), long],
      waitingFor('long'),
      {},
      kept(long),
    ],
    [
      'do not stop items that run meanwhile',
      [leaving(running('old')), quick, long],
      waitingFor('old, long'),
      { deployed: ['hosted: quick'], sent: ['hosted: long'] },
      kept(quick, long),
    ],
    [
      'whose trigger is rejected permanently fail the phase after the others',
      [leaving(running('a')), leaving(pending('b'))],
      waitingFor('a, b'),
      {},
      refused,
    ],
    [
      'whose trigger is rejected permanently fail the phase',
      [leaving(pending('b'))],
      fail('Forbidden', 'exec-b: no'),
      {},
      refused,
    ],
    [
      'whose trigger is rejected wait for background activities that have not made their first write',
      [leaving(slow(pending('a'))), leaving(pending('b'))],
      waitingFor('a, b'),
      {},
      refused,
    ],
    [
      'with another unfinished job are waited for',
      [leaving(busy(served(pending('a'))))],
      waitingFor('a'),
      { triggered: [], deployed: [], sent: [] },
      NONE,
    ],
  ])('%s', async ([, items, outcome, called, given]) => {
    const { pass, called: found } = executionPass(items, given)
    expect(await cleanUpOrphans(pass)).toEqual(outcome)
    expect(found).toMatchObject(called)
  })

  it('are waited for if they have the finalizer of another controller after their release', async () => {
    const old = { ...leaving(pending('held')), untouched: true, finalizers: [FINALIZER, 'theirs'] }
    const released: string[] = []
    const releaseDeployItems = () => {
      released.push('held')
      return Promise.resolve(wrote([{ ...old, finalizers: ['theirs'] }]))
    }
    const { pass, called } = executionPass([old], { ...NONE, act: { releaseDeployItems } })
    expect(await cleanUpOrphans(pass)).toEqual(waitingFor('held'))
    expect(await cleanUpOrphans(pass)).toEqual(waitingFor('held'))
    expect([released, called.triggered]).toEqual([['held'], []])
  })
})
