// Combinators on a real Temporal server: scopes, timers and continue-as-new, which the unit tests' fake runtime only imitates.

import { WorkflowFailedError } from '@temporalio/client'
import { CancelledFailure } from '@temporalio/common'
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'

import { done, retryLater } from '../../workflows/kit/index.ts'
import * as combine from '../../workflows/kit/plan/combine.ts'
import type { Waited } from './combinators.ts'
import { useRunWorker } from './run-worker.ts'

const worker = useRunWorker('combinators.ts')
const expired = (name: string, ms: number) => retryLater('Timeout', `${name} took longer than ${ms} ms`)

describe.concurrent('a step with a time-out', () => {
  it.each<[plan: string, outcome: unknown, log: readonly string[]]>([
    ['alone', expired('hang', 50), ['hang is cancelled']],
    ['inParallel', expired('parallelJoin', 50), ['quick', 'one is cancelled', 'other is cancelled']],
    ['inside', expired('inner', 50), ['inner is cancelled', 'after']],
    ['outside', expired('sequential', 50), ['inner is cancelled']],
    ['withFallback', done, ['hang is cancelled', 'fallback']],
    ['again', expired('hang', 20), ['hang is cancelled', 'hang is cancelled']],
  ])('is cancelled when it expires, but the run is not; hooks come in pairs (%s)', async (plan, outcome, log) => {
    expect(await (await start('waiting', plan)).result()).toEqual<Waited>({
      outcome: outcome as Waited['outcome'],
      log,
      isCancelled: false,
      unpaired: [],
    })
  })
})

describe('the cancellation of a run', () => {
  it.each(['long', 'betweenRuns'])('ends the run, and is neither an expiry nor a fault (%s)', async (plan) => {
    const run = await start('waiting', plan)
    await run.query('__stack_trace')
    await run.cancel()
    const error: unknown = await run.result().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(WorkflowFailedError)
    expect((error as WorkflowFailedError).cause).toBeInstanceOf(CancelledFailure)
  })
})

describe.concurrent('a step that continues as new', () => {
  it.each(Object.keys(combine))('passes through %s', async (combinator) => {
    const seen = (await (await start('continuing', combinator)).result()) as readonly string[]
    expect(seen.slice(-2)).toEqual(['leave', 'left'])
  })
})

async function start(workflow: 'waiting' | 'continuing', plan: string) {
  const workflowId = `${workflow}-${plan}-${randomUUID()}`
  return await worker.start(workflow, { workflowId, args: [plan] })
}
