// When a Disruption begins and ends, from its spec and its creation. Milliseconds since the epoch. Source: spec/chaos.md 1.3.

import { durationMs } from '../go-duration.ts'
import { instantMs } from '../instant.ts'
import type { Disruption, DisruptionSpec } from './kind.ts'

/** What the times of a Disruption derive from. */
export interface Timed {
  readonly spec: Pick<DisruptionSpec, 'duration' | 'triggers'>
  readonly metadata: Pick<Disruption['metadata'], 'creationTimestamp'>
}

export interface DisruptionTimes {
  readonly createPods: number
  readonly inject: number
  readonly end: number
}

/** @param defaultMs how long it lasts when its spec does not say. */
export function timesOf({ spec, metadata }: Timed, defaultMs: number): DisruptionTimes {
  const { createPods, inject } = spec.triggers ?? {}
  const created = instantMs(metadata.creationTimestamp) ?? 0
  const atPods = Math.max(created, begins(createPods, created) ?? created)
  const atInjection = Math.max(created, begins(inject, atPods) ?? atPods)
  return { createPods: atPods, inject: atInjection, end: atInjection + durationOf(spec, defaultMs) }
}

/** How long it lasts, in milliseconds. */
export function durationOf({ duration }: Pick<DisruptionSpec, 'duration'>, defaultMs: number): number {
  return duration === undefined || duration === '' ? defaultMs : (durationMs(duration) ?? defaultMs)
}

type Trigger = NonNullable<NonNullable<DisruptionSpec['triggers']>['inject']>

function begins(trigger: Trigger | undefined, from: number): number | undefined {
  if (trigger === undefined) return undefined
  const { notBefore, offset } = trigger
  const at = instantMs(notBefore)
  if (at !== undefined) return at
  const after = offset === undefined || offset === '' ? undefined : durationMs(offset)
  return after === undefined ? undefined : from + after
}
