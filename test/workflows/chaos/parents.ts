// Crons and rollouts for tests.

import { afterEach, beforeEach, vi } from 'vitest'

import { DROP } from './disruption/spec-cases.ts'

export const TARGET = { kind: 'deployment', name: 'shop' }
/** Without a selector, which comes from the target. */
export const TEMPLATE = { ...DROP, count: '50%', duration: '15m' }

/** An object of this kind. */
export function parentOf(spec: object, metadata: object = {}): object {
  return { metadata: { name: 'game', ...metadata }, spec }
}

export const cronSpec = (more: object = {}) => ({
  schedule: '0 * * * *',
  targetResource: TARGET,
  disruptionTemplate: TEMPLATE,
  ...more,
})

export const rolloutSpec = (more: object = {}) => ({ targetResource: TARGET, disruptionTemplate: TEMPLATE, ...more })

/** Sets the time of this day before each test of the file. @returns a function that sets another time. */
export function useClock(time: string): (time: string) => void {
  const clock = (to: string) => {
    vi.setSystemTime(new Date(`2026-01-02T${to}Z`))
  }
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] })
    clock(time)
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  return clock
}
