import { describe, expect, it } from 'vitest'

import {
  containerHashes,
  rolloutDecision,
  type RolloutState,
  updatedContainers,
} from '../../../../workflows/chaos/disruption-rollout/changes.ts'

const [FIRST, LATER, LAST] = ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', '2026-01-01T02:00:00Z']
const app = { name: 'app', image: 'shop:1', env: [{ name: 'A', value: '1' }] }
const newer = { ...app, image: 'shop:2' }
const barer = { ...app, env: [] }
const pod = (...containers: readonly { readonly name: string }[]) => containerHashes({ containers })

describe('the containers of a target', () => {
  const first = updatedContainers({}, pod(app), FIRST)

  it('are not a change at the first observation (C8)', () => {
    expect(first.lastContainerChangeTime).toBeUndefined()
    expect(Object.keys(first.latestContainersHash ?? {})).toEqual(['app'])
  })

  it('are unchanged by another order of keys and by changes outside of containers (C8)', () => {
    const turned = Object.fromEntries(Object.entries(app).reverse()) as typeof app
    expect(updatedContainers(first, pod(turned), LATER)).toEqual(first)
    const changed = updatedContainers(first, pod(newer), LATER)
    expect(updatedContainers(changed, pod(newer), LAST)).toEqual(changed)
  })

  it.each<readonly [string, ReturnType<typeof pod>]>([
    ['image', pod(newer)],
    ['environment', pod(barer)],
    ['number', pod(app, { name: 'side' })],
    ['absence', pod()],
    ['init containers', containerHashes({ containers: [app], initContainers: [{ name: 'init' }] })],
  ])('have changed with their %s (C8)', (_, template) => {
    expect(updatedContainers(first, template, LATER).lastContainerChangeTime).toBe(LATER)
  })
})

describe('a rollout', () => {
  const nowMs = Date.parse('2026-01-01T01:04:00Z')
  const state = (more: Partial<RolloutState> = {}): RolloutState => ({
    status: { lastContainerChangeTime: LATER },
    isTargetThere: true,
    hasChild: false,
    nowMs,
    toleranceMs: 5 * 60_000,
    ...more,
  })

  it('creates a Disruption for a change', () => {
    expect(rolloutDecision(state())).toEqual({ run: 'now', forMs: Date.parse(LATER) })
    const tested = { lastContainerChangeTime: LATER, lastScheduleTime: FIRST }
    expect(rolloutDecision(state({ status: tested })).run).toBe('now')
  })

  it.each<readonly [string, Partial<RolloutState>]>([
    ['target missing', { isTargetThere: false }],
    ['never changed', { status: {} }],
    ['already tested', { status: { lastContainerChangeTime: LATER, lastScheduleTime: LATER } }],
    ['still there', { hasChild: true }],
  ])('tests nothing: %s', (run, more) => {
    expect(rolloutDecision(state(more))).toEqual({ run })
  })

  it('reports the change for which it is too late', () => {
    const late = state({ nowMs: nowMs + 61_000 })
    expect(rolloutDecision(late)).toEqual({ run: 'too late', forMs: Date.parse(LATER) })
  })
})
