// Rules for duration, triggers and pulse. Source: spec/chaos.md 1.2, 1.4 (8, 9).

import type { Problem, AdmissionRequest, FieldChange } from '../../../kit/index.ts'
import { EXPECTED_DURATION, parseGoDuration, goDurationOfMs } from '../../go-duration.ts'
import { timestampMs } from '../../timestamp.ts'
import { fieldsOf, has, type JsonFields, rangeProblems, hasValue, formatValue } from '../../json-fields.ts'

const SHORTEST_PULSE_NS = 500_000_000n

export function timingProblems(spec: JsonFields, at: string): readonly Problem[] {
  const triggers = fieldsOf(spec['triggers'])
  return [
    ...durationProblems(spec, 'duration', at, 'above 0'),
    ...rangeProblems(spec, at, { maxRuns: [1, Infinity] }),
    ...triggerProblems(fieldsOf(triggers['inject']), `${at}.triggers.inject`),
    ...triggerProblems(fieldsOf(triggers['createPods']), `${at}.triggers.createPods`),
    ...orderProblems(triggers, at),
    ...(has(spec, 'pulse') ? pulseProblems(fieldsOf(spec['pulse']), `${at}.pulse`) : []),
  ]
}

/** Rejects triggers in the past; only on create. Source: spec/chaos.md 2.10 "Create checks". */
export function pastTriggerProblems(spec: JsonFields, at: string, nowMs: number): readonly Problem[] {
  return Object.entries(fieldsOf(spec['triggers'])).flatMap(([name, trigger]) => {
    const notBefore = fieldsOf(trigger)['notBefore']
    const ms = timestampMs(notBefore)
    if (ms === undefined || ms >= nowMs) return []
    return [{ field: `${at}.triggers.${name}.notBefore`, found: formatValue(notBefore), expected: 'a future time' }]
  })
}

type MinDuration = 'above 0' | '0 or more' | 'at least 500ms'

/** The problems of a duration that may be absent or empty. */
export function durationProblems(fields: JsonFields, name: string, at: string, least: MinDuration): readonly Problem[] {
  if (!hasValue(fields, name)) return []
  const value = fields[name]
  const ns = parseGoDuration(value)
  if (ns !== undefined && isEnough(ns, least)) return []
  const expected = ns === undefined ? EXPECTED_DURATION : `a duration of ${least}`
  return [{ field: `${at}.${name}`, found: formatValue(value), expected }]
}

function isEnough(ns: bigint, least: MinDuration): boolean {
  switch (least) {
    case 'above 0':
      return ns > 0n
    case '0 or more':
      return ns >= 0n
    case 'at least 500ms':
      return ns >= SHORTEST_PULSE_NS
  }
}

function triggerProblems(trigger: JsonFields, at: string): readonly Problem[] {
  const { notBefore } = trigger
  const isTime = !hasValue(trigger, 'notBefore') || timestampMs(notBefore) !== undefined
  return [
    ...(hasValue(trigger, 'notBefore') && hasValue(trigger, 'offset')
      ? [{ field: at, found: 'notBefore and offset', expected: 'one of them' }]
      : []),
    ...(isTime
      ? []
      : [
          {
            field: `${at}.notBefore`,
            found: formatValue(notBefore),
            expected: 'a time in RFC 3339 format, such as 2026-01-31T12:00:00Z',
          },
        ]),
    ...durationProblems(trigger, 'offset', at, '0 or more'),
  ]
}

function orderProblems(triggers: JsonFields, at: string): readonly Problem[] {
  const [inject, createPods] = [triggers['inject'], triggers['createPods']].map((one) =>
    timestampMs(fieldsOf(one)['notBefore']),
  )
  if (inject === undefined || createPods === undefined || inject >= createPods) return []
  const found = formatValue(fieldsOf(triggers['inject'])['notBefore'])
  return [{ field: `${at}.triggers.inject.notBefore`, found, expected: 'no time before createPods.notBefore' }]
}

function pulseProblems(pulse: JsonFields, at: string): readonly Problem[] {
  const set = ['activeDuration', 'dormantDuration'].filter((name) => hasValue(pulse, name))
  return [
    ...(set.length === 1
      ? [{ field: at, found: `only ${set.join()}`, expected: 'activeDuration and dormantDuration, or neither' }]
      : []),
    ...durationProblems(pulse, 'activeDuration', at, 'at least 500ms'),
    ...durationProblems(pulse, 'dormantDuration', at, 'at least 500ms'),
    ...durationProblems(pulse, 'initialDelay', at, '0 or more'),
  ]
}

/** The name of the mutation that needs the configuration. */
export const DURATION_MUTATION = 'duration'

/**
 * Sets the operators' default duration on a Disruption without one. An update without a duration keeps the existing
 * one. Source: spec/chaos.md 2.10 "Defaulting".
 */
export function durationChange(
  { object, old }: Pick<AdmissionRequest, 'object' | 'old'>,
  defaultDurationMs: number,
): readonly FieldChange[] {
  const [spec, before] = [object, old].map((one) => fieldsOf(fieldsOf(one)['spec']))
  if (spec === undefined || hasValue(spec, 'duration')) return []
  const value = old === undefined ? goDurationOfMs(defaultDurationMs) : before?.['duration']
  return value === undefined ? [] : [{ path: ['spec', 'duration'], value }]
}
