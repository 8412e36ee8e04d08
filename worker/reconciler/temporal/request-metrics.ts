// Counts the requests of the worker's Temporal client.

import type { WorkflowClientInterceptor } from '@temporalio/client'

import type { Metrics } from '../../../activities/run/metrics.ts'

/** @returns an interceptor that measures each request of the dispatcher: starts, signals, descriptions and terminations. */
export function countRequests(metrics: Pick<Metrics, 'observe'>): WorkflowClientInterceptor {
  async function timed<Answer>(operation: string, request: () => Promise<Answer>): Promise<Answer> {
    const since = performance.now()
    let result: 'ok' | 'error' = 'error'
    try {
      const answer = await request()
      result = 'ok'
      return answer
    } finally {
      const seconds = (performance.now() - since) / 1000
      metrics.observe('pawl_temporal_request_duration_seconds', seconds, { operation, result })
    }
  }
  return {
    startWithDetails: async (input, next) => await timed('start', async () => await next(input)),
    signal: async (input, next) => await timed('signal', async () => await next(input)),
    describe: async (input, next) => await timed('describe', async () => await next(input)),
    terminate: async (input, next) => await timed('terminate', async () => await next(input)),
  }
}
