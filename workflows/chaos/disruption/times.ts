// Computes start and end of a Disruption from its spec and creation time, in milliseconds since the epoch. Source:
// spec/chaos.md 1.3.

import { durationMs } from '../go-duration.ts'
import { timestampMs } from '../timestamp.ts'
import type { Disruption, DisruptionSpec } from './kind.ts'

/** The fields that the times derive from. */
export interface TimedDisruption {
  readonly spec: Pick<DisruptionSpec, 'duration' | 'triggers'>
  readonly metadata: Pick<Disruption['metadata'], 'creationTimestamp'>
}

export interface DisruptionTimes {
  readonly createPods: number
  readonly inject: number
  readonly end: number
}

/** @param defaultMs the duration if the spec has none. */
export function timesOf({ spec, metadata }: TimedDisruption, defaultMs: number): DisruptionTimes {
  const { createPods, inject } = spec.triggers ?? {}
  const created = timestampMs(metadata.creationTimestamp) ?? 0
  const atPods = Math.max(created, triggerTime(createPods, created) ?? created)
  const atInjection = Math.max(created, triggerTime(inject, atPods) ?? atPods)
  return { createPods: atPods, inject: atInjection, end: atInjection + durationOf(spec, defaultMs) }
}

/** The duration in milliseconds. */
export function durationOf({ duration }: Pick<DisruptionSpec, 'duration'>, defaultMs: number): number {
  return duration === undefined || duration === '' ? defaultMs : (durationMs(duration) ?? defaultMs)
}

type Trigger = NonNullable<NonNullable<DisruptionSpec['triggers']>['inject']>

function triggerTime(trigger: Trigger | undefined, from: number): number | undefined {
  if (trigger === undefined) return undefined
  const { notBefore, offset } = trigger
  const at = timestampMs(notBefore)
  if (at !== undefined) return at
  const after = offset === undefined || offset === '' ? undefined : durationMs(offset)
  return after === undefined ? undefined : from + after
}
