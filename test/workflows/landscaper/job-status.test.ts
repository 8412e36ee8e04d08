import { describe, expect, it } from 'vitest'
import type { Condition } from '../../../workflows/landscaper/contract.ts'
import { firstConditions, type JobStage, nextConditions } from '../../../workflows/landscaper/job-status.ts'
import { hasCondition, kstatusOf, type ReadCondition } from '../../support/cluster/kstatus.ts'

const [EARLY, LATE] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z']

const RUNNING: JobStage = { phase: 'Progressing', finished: false, generation: 2 }
const SUCCEEDED: JobStage = { phase: 'Succeeded', finished: true, generation: 2 }
const BROKEN = { reason: 'children failed', message: 'execution x is Failed' }
const FAILED: JobStage = { phase: 'Failed', finished: true, lastError: BROKEN, generation: 2 }

describe('the conditions of a job', () => {
  const seen = (conditions: readonly Condition[], generation = 2) => ({
    metadata: { name: 'x', generation },
    status: { observedGeneration: 2, conditions: conditions as readonly ReadCondition[] },
  })

  it.each([
    ['begins', { phase: 'Init', finished: false, generation: 2 }, ['Ready Unknown Init', 'Reconciling True Init']],
    ['runs', RUNNING, ['Ready Unknown Progressing', 'Reconciling True Progressing']],
    [
      'was handed out',
      { phase: undefined, finished: false },
      ['Ready Unknown WaitingForTurn', 'Reconciling True WaitingForTurn'],
    ],
    [
      'is tried again',
      { ...RUNNING, lastError: BROKEN },
      ['Ready Unknown ChildrenFailed', 'Reconciling True ChildrenFailed'],
    ],
    ['has succeeded', SUCCEEDED, ['Ready True Succeeded']],
    ['has failed', FAILED, ['Ready False ChildrenFailed', 'Stalled True ChildrenFailed']],
    [
      'could not uninstall',
      { ...FAILED, phase: 'DeleteFailed' },
      ['Ready False ChildrenFailed', 'Stalled True ChildrenFailed'],
    ],
    ['ends with a phase alone', { phase: 'Failed', finished: true }, ['Ready False Failed', 'Stalled True Failed']],
  ] satisfies [string, JobStage, string[]][])('that %s', (_, stage, expected) => {
    const told = firstConditions(stage, EARLY).map(({ type, status, reason }) => `${type} ${status} ${reason}`)
    expect(told).toEqual(expected)
  })

  it.each([
    ['runs', RUNNING, 'InProgress'],
    ['was handed out', { ...RUNNING, phase: undefined }, 'InProgress'],
    ['has succeeded', SUCCEEDED, 'Current'],
    ['has failed', FAILED, 'Failed'],
  ] as const)('are what kstatus and kubectl wait read of one that %s', (_, stage, expected) => {
    const object = seen(firstConditions(stage, EARLY))
    expect(kstatusOf(object)).toBe(expected)
    expect(hasCondition(object, 'Ready')).toBe(expected === 'Current')
    // An edit that no job has seen.
    expect(hasCondition(seen(object.status.conditions as readonly Condition[], 3), 'Ready')).toBe(false)
  })

  it('have the generation of the job, also the conditions of other aspects', () => {
    const changes = [{ type: 'CreateExports', status: 'True', reason: 'DataObjectsCreated', message: 'there' }] as const
    const all = nextConditions(undefined, { stage: SUCCEEDED, changes, isFirst: false }, EARLY)
    expect(all.map(({ type, observedGeneration }) => [type, observedGeneration])).toEqual([
      ['Ready', 2],
      ['CreateExports', 2],
    ])
  })

  it('keep their transition time while the status stays, also over jobs', () => {
    const before = firstConditions(SUCCEEDED, EARLY)
    const [same] = nextConditions(before, { stage: { ...SUCCEEDED, generation: 3 }, isFirst: true }, LATE)
    expect(same).toMatchObject({ lastTransitionTime: EARLY, lastUpdateTime: LATE, observedGeneration: 3 })
    const [other] = nextConditions(before, { stage: FAILED, isFirst: true }, LATE)
    expect(other).toMatchObject({ lastTransitionTime: LATE })
  })

  it('leave other aspects alone within a job, and start without them', () => {
    const changes = [{ type: 'ValidateImports', status: 'False', reason: 'No', message: 'no' }] as const
    const failed = nextConditions(undefined, { stage: FAILED, changes, isFirst: false }, EARLY)
    const types = (all: readonly Condition[]) => all.map(({ type }) => type)
    expect(types(failed)).toEqual(['Ready', 'Stalled', 'ValidateImports'])
    const within = nextConditions(failed, { stage: RUNNING, isFirst: false }, LATE)
    expect(types(within)).toEqual(['Ready', 'ValidateImports', 'Reconciling'])
    expect(types(nextConditions(failed, { stage: RUNNING, isFirst: true }, LATE))).toEqual(['Ready', 'Reconciling'])
  })

  it('have at most 1,000 characters of an error, and no reason with blanks', () => {
    const lastError = { reason: '-', message: 'x'.repeat(5000) }
    const [ready] = firstConditions({ ...FAILED, lastError }, EARLY)
    expect(ready?.reason).toBe('Failed')
    expect(ready?.message.length).toBeLessThan(1100)
  })
})
