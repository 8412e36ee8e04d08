// Starts runs of widgets (job mode) with fake activities for one test.

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
  /** Undefined: the subject is gone. */
  readonly target?: Partial<TargetView> | undefined
  /** What work comes to, pass by pass; the last one stands for all further passes. */
  readonly work?: readonly Work[]
  /** How its settles end, one after the other; the last one stands for all further ones. */
  readonly settles?: readonly SettleResult['result'][]
  /** Passes in which something comes after their looks. */
  readonly comesIn?: readonly number[]
  /** As in the run's input. */
  readonly serves?: readonly string[]
}

/** The world of one run: the object it reconciles, and what was done to it. */
export class WidgetWorld extends RunWorld {
  readonly settled: SettleInput[] = []
  /** What passes said that the run serves. */
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
    // Nothing to write.
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

/** The target of a job that has just begun. */
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

/** Registers the hooks of the calling test file. */
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
