// What altered answers of a gRPC server have to say. Source: spec/chaos.md 1.6.

import type { Problem } from '../../../kit/index.ts'
import {
  choiceProblems,
  fieldsOf,
  type JsonFields,
  listOf,
  rangeProblems,
  says,
  shown,
  textOf,
} from '../../json-fields.ts'
import { GRPC_ERRORS } from '../schema/grpc.ts'

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
  const given = ['error', 'override'].filter((name) => says(alteration, name))
  const endpoint = textOf(alteration['endpoint'])
  return [
    ...(ENDPOINT.test(endpoint)
      ? []
      : [{ field: `${at}.endpoint`, found: shown(endpoint), expected: 'a method such as /package.Service/Method' }]),
    ...(given.length === 1
      ? []
      : [{ field: at, found: given.join(' and ') || 'neither', expected: 'either error or override' }]),
    ...choiceProblems(alteration, at, { error: GRPC_ERRORS, override: ['{}'] }),
    ...rangeProblems(alteration, at, { queryPercent: [0, 100] }),
  ]
}

/** Per endpoint: no more than all calls, and of the rest one percent for each entry without a share of its own. */
function shareProblems(endpoints: readonly JsonFields[], at: string): readonly Problem[] {
  const names = [...new Set(endpoints.map(({ endpoint }) => textOf(endpoint)))]
  return names.flatMap((name) => {
    const shares = endpoints.flatMap((one) => (textOf(one['endpoint']) === name ? [shareOf(one)] : []))
    const sum = shares.reduce((total, share) => total + share, 0)
    const open = shares.filter((share) => share === 0).length
    if (sum > 100) return [{ field: at, found: `${sum} percent of ${shown(name)}`, expected: 'at most 100' }]
    if (open <= 100 - sum) return []
    const found = `${100 - sum} percent for ${open} entries of ${shown(name)} without queryPercent`
    return [{ field: at, found, expected: 'at least 1 for each' }]
  })
}

/** Zero is as absent: upstream knows no difference. */
function shareOf({ queryPercent }: JsonFields): number {
  return typeof queryPercent === 'number' ? queryPercent : 0
}
