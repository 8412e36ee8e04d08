import { describe, expect, it } from 'vitest'

import type { InjectionStatus } from '../../../../workflows/chaos/contract.ts'
import type { TargetInjections } from '../../../../workflows/chaos/disruption/kind.ts'
import {
  injectedTargets,
  injectionStatusOf,
  messageOf,
  simulatedCount,
  type StatusInput,
  targetInjectionsOf,
} from '../../../../workflows/chaos/disruption/injection-status.ts'

const KINDS = ['network-disruption', 'cpu-pressure']
type Pod = StatusInput['pods'][number]

const pod = (target: string, does: string, is: Partial<Pod> = {}): Pod => ({
  target,
  does,
  isReady: false,
  hasCompleted: false,
  isDeleting: false,
  ...is,
})
const of = (target: string, is: Partial<Pod>) => KINDS.map((kind) => pod(target, kind, is))
const ready = { isReady: true }
const completed = { hasCompleted: true }

const status = (current: InjectionStatus, pods: readonly Pod[], more: Partial<StatusInput> = {}) =>
  injectionStatusOf({ current, pods, kinds: KINDS, targets: ['a', 'b'], desired: 2, isOver: false, ...more })

describe('the injection status', () => {
  it('depends on the ready chaos pods', () => {
    expect(status('NotInjected', [])).toBe('NotInjected')
    expect(status('NotInjected', [...of('a', {}), ...of('b', {})])).toBe('NotInjected')
    expect(status('NotInjected', [...of('a', ready), ...of('b', {})])).toBe('PartiallyInjected')
    expect(status('PartiallyInjected', [...of('a', ready), ...of('b', ready)])).toBe('Injected')
    expect(status('NotInjected', [pod('a', 'cpu-pressure', ready), pod('a', 'network-disruption')])).toBe(
      'PartiallyInjected',
    )
  })

  it('is partial with fewer targets than desired, and recovers when a chaos pod is ready again', () => {
    expect(status('NotInjected', [...of('a', ready), ...of('b', ready)], { desired: 3 })).toBe('PartiallyInjected')
    expect(status('Injected', [...of('a', ready), ...of('b', {})])).toBe('PartiallyInjected')
    expect(status('PartiallyInjected', [...of('a', ready), ...of('b', ready)])).toBe('Injected')
  })

  it.each([
    ['Injected', 'PausedInjected'],
    ['PartiallyInjected', 'PausedPartiallyInjected'],
    ['NotInjected', 'NotInjected'],
    ['PausedInjected', 'PausedInjected'],
    ['PausedPartiallyInjected', 'PausedPartiallyInjected'],
  ] as const)('of %s is %s when all chaos pods have ended, or are gone', (before, after) => {
    expect(status(before, [...of('a', completed), ...of('b', completed)])).toBe(after)
    if (before !== 'NotInjected') expect(status(before, [])).toBe(after)
  })

  it.each([
    ['NotInjected', 'PreviouslyNotInjected'],
    ['PartiallyInjected', 'PreviouslyPartiallyInjected'],
    ['PausedPartiallyInjected', 'PreviouslyPartiallyInjected'],
    ['Injected', 'PreviouslyInjected'],
    ['PausedInjected', 'PreviouslyInjected'],
  ] as const)('of %s is %s at the end, and stays so', (before, after) => {
    expect(status(before, [], { isOver: true })).toBe(after)
    expect(status(after, [...of('a', ready), ...of('b', ready)])).toBe(after)
    expect(status(after, [], { isOver: true })).toBe(after)
  })

  it('records the highest injection at the end, even while chaos pods end', () => {
    expect(status('Injected', [...of('a', {}), ...of('b', {})], { isOver: true })).toBe('PreviouslyInjected')
    expect(status('NotInjected', [...of('a', ready), ...of('b', ready)], { isOver: true })).toBe('PreviouslyInjected')
  })

  it('counts a target when all kinds are ready on it', () => {
    const pods = [...of('a', ready), pod('b', 'cpu-pressure', ready)]
    expect(injectedTargets({ pods, kinds: KINDS, targets: ['a', 'b'] })).toEqual(['a'])
    expect(injectedTargets({ pods, kinds: [], targets: ['a'] })).toEqual([])
  })
})

describe('the status of each target', () => {
  const NOW = '2026-01-02T03:04:05Z'
  const named = (target: string, does: string, isReady: boolean) => ({
    target,
    does,
    isReady,
    metadata: { name: `chaos-${target}-${does}` },
  })
  type PodStatus = ReturnType<typeof named> & { readonly message?: string; readonly isSimulated?: true }
  const injectionsAfter = (before: TargetInjections, pods: readonly PodStatus[], stuck: readonly string[] = []) =>
    targetInjectionsOf({ before, targets: ['b', 'a'], kinds: ['dns-disruption'], pods, stuck: new Set(stuck) }, NOW)

  it('is sorted, and has the time of the first injection', () => {
    const first = injectionsAfter({}, [named('a', 'dns-disruption', true)])
    expect(Object.keys(first)).toEqual(['a', 'b'])
    expect(first).toEqual({
      a: {
        'dns-disruption': { injectionStatus: 'Injected', injectorPodName: 'chaos-a-dns-disruption', since: NOW },
      },
      b: { 'dns-disruption': { injectionStatus: 'NotInjected' } },
    })
    const since = '2025-12-31T00:00:00Z'
    const before: TargetInjections = {
      a: { 'dns-disruption': { injectionStatus: 'Injected', injectorPodName: 'x', since } },
    }
    expect(injectionsAfter(before, [])).toMatchObject({
      a: { 'dns-disruption': { injectionStatus: 'NotInjected', injectorPodName: 'x', since } },
    })
  })

  it('has one sentence for each target that is not injected or that is simulated', () => {
    const pods = [
      { ...named('a', 'dns-disruption', false), message: 'not injected: no iptables' },
      { ...named('b', 'dns-disruption', true), isSimulated: true as const, message: 'simulated: x' },
    ]
    const injections = injectionsAfter({}, pods)
    expect(injections).toMatchObject({
      a: { 'dns-disruption': { injectionStatus: 'NotInjected', message: 'not injected: no iptables' } },
      b: { 'dns-disruption': { injectionStatus: 'Injected', simulated: true, message: 'simulated: x' } },
    })
    expect(messageOf(injections)).toBe('dns-disruption on a: not injected: no iptables')
    expect(simulatedCount(injections)).toBe(1)
    const simulated = injectionsAfter({}, pods.slice(1))
    expect(messageOf(simulated)).toBe(
      'simulated on 1 of 2 targets, because they have no process; nothing is disturbed there',
    )
    const all = injectionsAfter(
      {},
      ['a', 'b'].map((target) => ({ ...named(target, 'dns-disruption', true), isSimulated: true as const })),
    )
    expect(messageOf(all)).toBe('simulated, because no target has a process; nothing is disturbed')
    const ended = injectionsAfter(all, [{ ...named('a', 'dns-disruption', false), isSimulated: true }])
    expect([simulatedCount(all), simulatedCount(ended)]).toEqual([2, 0])
    expect(messageOf(injectionsAfter({}, [{ ...named('a', 'dns-disruption', true), message: 'old' }]))).toBeUndefined()
  })

  it('contains the stuck chaos pods', () => {
    const pods = [named('a', 'dns-disruption', false)]
    expect(injectionsAfter({}, pods, ['chaos-a-dns-disruption'])).toMatchObject({
      a: { 'dns-disruption': { injectionStatus: 'IsStuckOnRemoval' } },
    })
  })
})
