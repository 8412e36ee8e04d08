import type { Problem } from '../../../kit/index.ts'
import {
  fieldsOf,
  has,
  type JsonFields,
  rangeProblems,
  hasValue,
  formatValue,
  textOf,
  choiceProblems,
  listOf,
} from '../../json-fields.ts'
import { EXPECTED_SHARE, readCount, readPercent, isShare } from './share.ts'
import { durationProblems } from './timing.ts'
import { EXIT_CODES, MAX_FAILING_PATH_LENGTH, GRPC_ERRORS } from '../schema/kinds.ts'

export function cpuPressureProblems(pressure: JsonFields, at: string): readonly Problem[] {
  const { count } = pressure
  if (!hasValue(pressure, 'count') || readCount(count) !== undefined) return []
  const expected = `a whole number of CPUs, or ${EXPECTED_SHARE}`
  return [{ field: `${at}.count`, found: formatValue(count), expected }]
}

export function memoryPressureProblems(pressure: JsonFields, at: string): readonly Problem[] {
  const { targetPercent } = pressure
  const isPercent = readPercent(targetPercent) !== undefined
  const expected = 'a whole number from 1 to 100, with or without %'
  return [
    ...(isPercent ? [] : [{ field: `${at}.targetPercent`, found: formatValue(targetPercent), expected }]),
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
    ...(path.trim().startsWith('/')
      ? []
      : [{ field: `${at}.path`, found: formatValue(path), expected: 'a path from / on' }]),
    ...(isIdle ? [{ field, found: 'nothing', expected: THROTTLES.join(' or ') }] : []),
    ...rangeProblems(throttling, field, { readBytesPerSec: [1, Infinity], writeBytesPerSec: [1, Infinity] }),
  ]
}

export function podReplacementProblems(replacement: JsonFields, at: string): readonly Problem[] {
  return rangeProblems(replacement, at, { gracePeriodSeconds: [0, Infinity] })
}

export function diskFailureProblems(failure: JsonFields, at: string): readonly Problem[] {
  const paths = listOf(failure['paths'])
  const { probability } = failure
  return [
    ...(paths.length > 0 ? [] : [{ field: `${at}.paths`, found: 'none', expected: 'at least one path' }]),
    ...paths.flatMap((path, index) => {
      const { length } = textOf(path).trim()
      if (length > 0 && length <= MAX_FAILING_PATH_LENGTH) return []
      const expected = `a path of 1 to ${MAX_FAILING_PATH_LENGTH} characters`
      return [{ field: `${at}.paths[${index}]`, found: formatValue(path), expected }]
    }),
    ...choiceProblems(fieldsOf(failure['openat']), `${at}.openat`, { exitCode: EXIT_CODES }),
    ...(hasValue(failure, 'probability') && !isShare(probability)
      ? [{ field: `${at}.probability`, found: formatValue(probability), expected: EXPECTED_SHARE }]
      : []),
  ]
}

const ENDPOINT = /^\/[A-Za-z_][\w.]*\/[A-Za-z_]\w*$/

export function grpcProblems(grpc: JsonFields, at: string): readonly Problem[] {
  const endpoints = listOf(grpc['endpoints']).map(fieldsOf)
  return [
    ...rangeProblems({ port: grpc['port'] ?? 0 }, at, { port: [1, 65_535] }),
    ...(endpoints.length > 0 ? [] : [{ field: `${at}.endpoints`, found: 'none', expected: 'at least one endpoint' }]),
    ...endpoints.flatMap((one, index) => alterationProblems(one, `${at}.endpoints[${index}]`)),
    ...shareProblems(endpoints, `${at}.endpoints`),
  ]
}

function alterationProblems(alteration: JsonFields, at: string): readonly Problem[] {
  const given = ['error', 'override'].filter((name) => hasValue(alteration, name))
  const endpoint = textOf(alteration['endpoint'])
  return [
    ...(ENDPOINT.test(endpoint)
      ? []
      : [
          {
            field: `${at}.endpoint`,
            found: formatValue(endpoint),
            expected: 'a method such as /package.Service/Method',
          },
        ]),
    ...(given.length === 1
      ? []
      : [{ field: at, found: given.join(' and ') || 'neither', expected: 'either error or override' }]),
    ...choiceProblems(alteration, at, { error: GRPC_ERRORS, override: ['{}'] }),
    ...rangeProblems(alteration, at, { queryPercent: [0, 100] }),
  ]
}

/**
 * Per endpoint, the shares must not exceed 100 percent, and at least one percent must remain for each entry without a
 * share.
 */
function shareProblems(endpoints: readonly JsonFields[], at: string): readonly Problem[] {
  const names = [...new Set(endpoints.map(({ endpoint }) => textOf(endpoint)))]
  return names.flatMap((name) => {
    const shares = endpoints.flatMap((one) => (textOf(one['endpoint']) === name ? [shareOf(one)] : []))
    const sum = shares.reduce((total, share) => total + share, 0)
    const open = shares.filter((share) => share === 0).length
    if (sum > 100) return [{ field: at, found: `${sum} percent of ${formatValue(name)}`, expected: 'at most 100' }]
    if (open <= 100 - sum) return []
    const found = `${100 - sum} percent for ${open} entries of ${formatValue(name)} without queryPercent`
    return [{ field: at, found, expected: 'at least 1 for each' }]
  })
}

/** Zero means absent, as upstream. */
function shareOf({ queryPercent }: JsonFields): number {
  return typeof queryPercent === 'number' ? queryPercent : 0
}
