// What pressure on CPU, memory and disk has to say, and the replacement of a pod. Source: spec/chaos.md 1.6.

import type { Problem } from '../../../kit/index.ts'
import { fieldsOf, has, type JsonFields, rangeProblems, says, shown, textOf } from '../../json-fields.ts'
import { EXPECTED_SHARE, readCount, readPercent } from './share.ts'
import { durationProblems } from './timing.ts'

export function cpuPressureProblems(pressure: JsonFields, at: string): readonly Problem[] {
  const { count } = pressure
  if (!says(pressure, 'count') || readCount(count) !== undefined) return []
  const expected = `a whole number of CPUs, or ${EXPECTED_SHARE}`
  return [{ field: `${at}.count`, found: shown(count), expected }]
}

export function memoryPressureProblems(pressure: JsonFields, at: string): readonly Problem[] {
  const { targetPercent } = pressure
  const isPercent = readPercent(targetPercent) !== undefined
  const expected = 'a whole number from 1 to 100, with or without %'
  return [
    ...(isPercent ? [] : [{ field: `${at}.targetPercent`, found: shown(targetPercent), expected }]),
    ...durationProblems(pressure, 'rampDuration', at, '0 or more'),
  ]
}

const THROTTLES = ['readBytesPerSec', 'writeBytesPerSec']

/** Stricter than upstream, which would start a pod that does nothing. */
export function diskPressureProblems(pressure: JsonFields, at: string): readonly Problem[] {
  const path = textOf(pressure['path'])
  const throttling = fieldsOf(pressure['throttling'])
  const field = `${at}.throttling`
  const isIdle = THROTTLES.every((name) => !has(throttling, name))
  return [
    ...(path.trim().startsWith('/') ? [] : [{ field: `${at}.path`, found: shown(path), expected: 'a path from / on' }]),
    ...(isIdle ? [{ field, found: 'nothing', expected: THROTTLES.join(' or ') }] : []),
    ...rangeProblems(throttling, field, { readBytesPerSec: [1, Infinity], writeBytesPerSec: [1, Infinity] }),
  ]
}

export function podReplacementProblems(replacement: JsonFields, at: string): readonly Problem[] {
  return rangeProblems(replacement, at, { gracePeriodSeconds: [0, Infinity] })
}
