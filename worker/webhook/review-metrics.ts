// Counts the webhook's answers for Prometheus, under the names that the wing gives (`WingAdmission.counters`).
//
//   C1. A write for which the API server calls both entries is counted once.
//   C2. Dry runs and writes to subresources such as status are not counted.

import type { MetricTable, WingAdmission } from '../../workflows/kit/index.ts'
import type { Metrics } from '../../activities/run/metrics.ts'
import { isNewOrChanged } from './match-conditions.ts'
import { fieldsOf } from '../../workflows/kit/index.ts'

type Counters = Pick<WingAdmission, 'counters'>

/** The counters of these wings. */
export function reviewMetrics(wings: readonly Counters[]): MetricTable {
  const tables = wings.flatMap(({ counters = {} }) =>
    Object.entries(counters).flatMap(([kind, { created, updated, refused, deleted }]) => [
      [created, counter(`Webhook: creations of a ${kind} that it accepted, without dry runs.`)] as const,
      [updated, counter(`Webhook: updates of a ${kind} that it accepted, without its status.`)] as const,
      [refused, counter(`Webhook: writes of a ${kind} that it refused.`)] as const,
      ...(deleted === undefined
        ? []
        : [
            [
              deleted,
              counter(
                `Webhook: deletions of a ${kind}. A webhook that does not answer within a second is skipped and misses one.`,
              ),
            ] as const,
          ]),
    ]),
  )
  return Object.fromEntries(tables)
}

function counter(help: string): MetricTable[string] {
  return { type: 'counter', labels: ['namespace'], help }
}

/** @returns the function that counts one review: its request, its answer, and which of the two entries it came from. */
export function countReviews(
  metrics: Pick<Metrics, 'count'>,
  wings: readonly Counters[],
): (review: unknown, answer: object, asks: 'spec' | 'metadata') => void {
  const byKind = new Map(wings.flatMap(({ counters = {} }) => Object.entries(counters)))
  return (review, answer, asks) => {
    const request = fieldsOf(fieldsOf(review)['request'])
    const { kind, operation, namespace, object, oldObject } = request
    const counters = byKind.get(String(fieldsOf(kind)['kind']))
    if (counters === undefined || isCountedElsewhere(request, asks) || isNotStored(request)) return
    const isAllowed = fieldsOf(fieldsOf(answer)['response'])['allowed'] === true
    const { created, updated, deleted } = counters
    const passed = { CREATE: created, UPDATE: updated, DELETE: deleted }[String(operation)]
    const counter = isAllowed ? passed : counters.refused
    if (counter === undefined) return
    const { name } = fieldsOf(fieldsOf(object ?? oldObject)['metadata'])
    const details = typeof name === 'string' ? { name } : {}
    metrics.count(counter, { namespace: typeof namespace === 'string' ? namespace : '' }, 1, details)
  }
}

type Request = ReturnType<typeof fieldsOf>

/** C1 */
function isCountedElsewhere({ object, oldObject }: Request, asks: 'spec' | 'metadata'): boolean {
  return asks === 'metadata' && isNewOrChanged(fieldsOf(object), oldObject == null ? undefined : fieldsOf(oldObject))
}

/** C2 */
function isNotStored({ dryRun, subResource }: Request): boolean {
  return dryRun === true || (subResource ?? '') !== ''
}
