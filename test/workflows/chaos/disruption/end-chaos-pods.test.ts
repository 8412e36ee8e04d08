import { describe, expect, it } from 'vitest'

import {
  needsHealth,
  type TargetHealth,
  type Termination,
  terminationOf,
} from '../../../../workflows/chaos/disruption/end-chaos-pods.ts'

type Ending = Parameters<typeof terminationOf>[0]

const running: Ending = {
  phase: 'Running',
  reason: '',
  injector: 'running',
  does: 'network-disruption',
  isDeleting: true,
  isHeld: true,
}
const failed: Ending = { ...running, phase: 'Failed', injector: 'failed' }

// Source: spec/chaos.md 2.7, 4.3 (B9 to B13), 8.4 (S6).
const ROWS: readonly (readonly [string, Ending, TargetHealth | undefined, Termination])[] = [
  ['is not asked about while it is not being deleted', { ...failed, isDeleting: false }, undefined, 'skip'],
  ['is not asked about without its finalizer', { ...failed, isHeld: false }, undefined, 'skip'],
  ['has completed', { ...running, phase: 'Succeeded', injector: 'completed' }, undefined, 'release'],
  ['has not begun', { ...running, phase: 'Pending', injector: 'never' }, undefined, 'release'],
  ['has failed at a target that is there', failed, 'cleanable', 'stuck'],
  ['has failed at a target that nothing is known of', failed, undefined, 'stuck'],
  ['has failed at a target that is gone', failed, 'gone', 'release'],
  ['has failed at a target that does not run', failed, 'not running', 'release'],
  ['has failed on a node that is not ready', failed, 'node not ready', 'release'],
  ['has failed over its deadline', { ...failed, reason: 'DeadlineExceeded' }, 'cleanable', 'release'],
  ['could not be started', { ...failed, injector: 'startError' }, 'cleanable', 'release'],
  ['has failed without any container', { ...failed, injector: 'never' }, 'cleanable', 'release'],
  ['has failed before its injector was started', { ...failed, injector: 'waiting' }, 'cleanable', 'release'],
  ['still cleans', running, 'cleanable', 'wait'],
  ['runs at a target that is gone', running, 'gone', 'release'],
  ['runs on a node that is not ready', running, 'node not ready', 'release'],
  ['is unknown', { ...running, phase: 'Unknown' }, 'cleanable', 'wait'],
  ['has failed a node', { ...failed, does: 'node-failure' }, 'cleanable', 'release'],
  ['has killed a container', { ...running, does: 'container-failure' }, 'cleanable', 'release'],
  ['has replaced a pod', { ...failed, does: 'pod-replacement' }, 'cleanable', 'release'],
]

describe('a chaos pod that', () => {
  it.each(ROWS)('%s', (_, pod, health, expected) => {
    expect(terminationOf(pod, health)).toBe(expected)
  })

  it('needs no health check has the same termination for any health', () => {
    for (const [, pod, , expected] of ROWS) if (!needsHealth(pod)) expect(terminationOf(pod, 'gone')).toBe(expected)
    expect(needsHealth(running)).toBe(true)
    expect(needsHealth(failed)).toBe(true)
  })
})
