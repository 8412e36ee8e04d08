// Combinators on a real Temporal server: what their fake runtime in the unit tests only claims about scopes, timers and new runs.

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
  ])('that expires is cancelled, and the run is not; hooks come in pairs (%s)', async (plan, outcome, log) => {
    expect(await (await start('waiting', plan)).result()).toEqual<Waited>({
      outcome: outcome as Waited['outcome'],
      log,
      isCancelled: false,
      unpaired: [],
    })
  })
})

describe('the cancellation of a run', () => {
  it.each(['long', 'betweenRuns'])('ends it, and is no expiry and no fault (%s)', async (plan) => {
    const run = await start('waiting', plan)
    await run.query('__stack_trace')
    await run.cancel()
    const error: unknown = await run.result().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(WorkflowFailedError)
    expect((error as WorkflowFailedError).cause).toBeInstanceOf(CancelledFailure)
  })
})

/** Exports of the module that combine no steps. */
const HELPERS = ['lastAction', 'lastStep', 'hooksOf']

describe.concurrent('a step that continues as new', () => {
  it.each(Object.keys(combine).filter((name) => !HELPERS.includes(name)))('passes through %s', async (combinator) => {
    const seen = (await (await start('continuing', combinator)).result()) as readonly string[]
    expect(seen.slice(-2)).toEqual(['leave', 'left'])
  })
})

async function start(workflow: 'waiting' | 'continuing', plan: string) {
  const workflowId = `${workflow}-${plan}-${randomUUID()}`
  return await worker.start(workflow, { workflowId, args: [plan] })
}
