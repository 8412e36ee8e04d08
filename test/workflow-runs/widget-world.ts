// Starts workflow runs of widgets (job mode) with fake activities for a test.

import proto from '@temporalio/proto'
import { randomUUID } from 'node:crypto'
import { expect, vi } from 'vitest'

import type {
  By,
  JobInput,
  JobState,
  SettleActivities,
  SettleInput,
  SettleResult,
  TargetView,
} from '../../workflows/kit/index.ts'
import { done } from '../../workflows/kit/index.ts'
import { useRunWorker } from './run-worker.ts'
import { PATIENT, RunWorld, Worlds } from './run-world.ts'
import type { Answer, WidgetActivities } from './widget.ts'

const { EventType } = proto.temporal.api.enums.v1

type Work = (by: By) => Answer | Promise<Answer>

interface Given {
  readonly type?: 'widget' | 'gizmo'
  /** Undefined: the subject does not exist. */
  readonly target?: Partial<TargetView> | undefined
  /** Results of the work activity, one per call. Further calls repeat the last result. */
  readonly work?: readonly Work[]
  /** Results of the settles, in order. Further settles repeat the last result. */
  readonly settles?: readonly SettleResult['result'][]
  /** Passes during which a wake arrives after the observation. */
  readonly comesIn?: readonly number[]
  /** The `serves` of the run's input. */
  readonly serves?: readonly string[]
}

/** The fake activities of one run: the object that the run reconciles, their results, and their calls. */
export class WidgetWorld extends RunWorld {
  readonly settled: SettleInput[] = []
  /** The `serves` values in the calls of the passes, as JSON. */
  readonly served = new Set<string | undefined>()
  readonly answers: { work: readonly Work[] }
  readonly comesIn: ReadonlySet<number>
  target: TargetView | undefined
  readonly #settles: readonly SettleResult['result'][]
  #worked = 0

  constructor({ work = [() => done], settles, comesIn = [], ...given }: Given) {
    super(`widget/${randomUUID()}/job`)
    this.comesIn = new Set(comesIn)
    this.target = 'target' in given && given.target === undefined ? undefined : { ...FRESH, ...given.target }
    this.answers = { work }
    this.#settles = settles ?? ['settled']
  }

  observe({ pass, serves }: By): Promise<JobState | undefined> {
    this.served.add(JSON.stringify(serves))
    this.log.push(`observe ${pass}`)
    return Promise.resolve(this.target && { target: this.target })
  }

  prepare({ pass }: By): Promise<Answer> {
    this.log.push(`prepare ${pass}`)
    return Promise.resolve({})
  }

  async work(by: By): Promise<Answer> {
    this.log.push(`work ${by.pass}`)
    const { work } = this.answers
    const answer = work[Math.min(this.#worked++, work.length - 1)]
    return (await answer?.(by)) ?? {}
  }

  settle(input: SettleInput): ReturnType<SettleActivities['settle']> {
    const { change, pass, jobID } = input
    const woken = this.comesIn.has(pass)
    this.log.push(`settle ${pass} ${change?.phase ?? '-'}`)
    // A settle without a status change and without a due time writes nothing.
    if (change === undefined && input.againMs === undefined) {
      return Promise.resolve({ result: 'settled', target: {}, woken })
    }
    this.settled.push(input)
    const result = this.#settles[Math.min(this.settled.length, this.#settles.length) - 1]
    if (result === 'superseded' || result === 'overtaken' || result === 'refused') return Promise.resolve({ result })
    if (change === undefined || this.target === undefined)
      return Promise.resolve({ result: 'settled', target: {}, woken })
    const { phase, observedGeneration, lastError, finished } = change
    this.target = { ...this.target, phase, observedGeneration, lastError, ...(finished && { jobIDFinished: jobID }) }
    return Promise.resolve({ result: 'settled', target: { phase, observedGeneration, lastError }, woken })
  }

  end(outcome: string): Promise<void> {
    this.log.push(`end ${outcome}`)
    return Promise.resolve()
  }

  async settledTimes(count: number): Promise<void> {
    await vi.waitFor(() => expect(this.settled.length).toBe(count), PATIENT)
  }

  async signalled(count: number): Promise<void> {
    const seen = async () => expect(await this.eventsOf(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)).toBe(count)
    await vi.waitFor(seen, PATIENT)
  }
}

/** The target when its job has just started. */
export const FRESH: TargetView = {
  version: '1',
  generation: 1,
  deleting: false,
  finalizers: [],
  phase: undefined,
  jobID: 'job',
  jobIDFinished: undefined,
  observedGeneration: 0,
  lastError: undefined,
}

/** Registers vitest hooks for the calling test file. */
export function useWidgets() {
  const worlds = new Worlds<WidgetWorld>()
  const activities: WidgetActivities & SettleActivities = {
    observeWidget: (by) => worlds.of(by.workflowID).observe(by),
    prepareWidget: (by) => worlds.of(by.workflowID).prepare(by),
    workOnWidget: (by) => worlds.of(by.workflowID).work(by),
    settle: (input) => worlds.of(input.workflowID).settle(input),
    endRun: ({ workflowID, outcome }) => worlds.of(workflowID).end(outcome),
  }
  const worker = useRunWorker('widget.ts', activities)

  async function start(given: Given = {}): Promise<WidgetWorld> {
    const world = new WidgetWorld(given)
    worlds.add(world)
    const subject = { kind: 'Widget', uid: 'u', namespace: 'n', name: 'w' }
    const { serves } = given
    const input: JobInput = { subject, jobID: 'job', cause: 'test', ...(serves !== undefined && { serves }) }
    world.run = await worker.start(given.type ?? 'widget', {
      workflowId: world.workflowID,
      args: [input],
      workflowTaskTimeout: '60 seconds',
    })
    return world
  }

  return { start, worker }
}
