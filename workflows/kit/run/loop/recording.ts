// Workflow interceptor that emits replay entries (`pawl replay`). Every bundle contains it; it is active only on replay task queues.
// Source: docs/adr/0050.
//
//   R1. In a worker it emits nothing: replays use queues that no worker has.
//   R2. Entries are serialized immediately, because states change later.
//   R3. It does not change inputs or results.

import { writeJson } from '../../kind/exact-json.ts'
import {
  ContinueAsNew,
  proxySinks,
  type WorkflowInboundCallsInterceptor,
  workflowInfo,
  type WorkflowInterceptors,
  type WorkflowOutboundCallsInterceptor,
} from '@temporalio/workflow'
import { type ReplayEntry, type ReplayFailure, type ReplaySinks, REPLAY_QUEUE } from '../sinks.ts'
import type { Subject } from '../subject.ts'
import type { Step, StepHooks } from '../../plan/step.ts'
import { recordSteps, saidBy } from '../../plan/trace.ts'
import { runTime } from './deadlines.ts'
import { currentAction } from './temporal.ts'
import { type PlanListener, type ReplayListener, withReplayListener } from './replay-listener.ts'

type Entry = ReplayEntry extends infer Each ? (Each extends unknown ? Omit<Each, 'atMs'> : never) : never
type Emit = (entry: Entry) => void

/** The SDK calls this function for each run. */
export function interceptors(): WorkflowInterceptors {
  // R1
  if (!workflowInfo().taskQueue.startsWith(REPLAY_QUEUE)) return {}
  const { replay } = proxySinks<ReplaySinks>()
  // R2
  const tell: Emit = (entry) => replay.told(writeJson({ atMs: runTime().getTime(), ...entry }))
  return { inbound: [inbound(tell)], outbound: [outbound(tell)] }
}

function inbound(tell: Emit): WorkflowInboundCallsInterceptor {
  return {
    async execute(input, next) {
      tell({ told: 'began', workflow: workflowInfo().workflowType, input: input.args[0] })
      try {
        const result = await withReplayListener(listenerOf(tell), async () => await next(input))
        tell({ told: 'ended', result })
        return result
      } catch (error) {
        if (error instanceof ContinueAsNew) tell({ told: 'ended', isContinued: true })
        else tell({ told: 'ended', failure: failureOf(error) })
        throw error
      }
    },
    async handleSignal(input, next) {
      tell({ told: 'signal', name: input.signalName, input: input.args[0] })
      await next(input)
    },
  }
}

function outbound(tell: Emit): WorkflowOutboundCallsInterceptor {
  let calls = 0
  const telling = async (
    called: { readonly name: string; readonly isLocal: boolean; readonly summary: string | undefined },
    input: unknown,
    next: () => Promise<unknown>,
  ): Promise<unknown> => {
    const call = ++calls
    const { summary, ...rest } = called
    const action = currentAction()
    const about = { ...(summary !== undefined && { summary }), ...(action !== undefined && { action }) }
    tell({ told: 'call', call, ...rest, ...about, input })
    try {
      const result = await next()
      tell({ told: 'answer', call, result })
      return result
    } catch (error) {
      tell({ told: 'answer', call, failure: failureOf(error) })
      throw error
    }
  }
  return {
    async scheduleActivity(input, next) {
      const { activityType: name, options, args } = input
      return await telling({ name, isLocal: false, summary: options.summary }, args[0], async () => await next(input))
    },
    async scheduleLocalActivity(input, next) {
      const { activityType: name, options, args } = input
      return await telling({ name, isLocal: true, summary: options.summary }, args[0], async () => await next(input))
    },
    async startTimer(input, next) {
      tell({ told: 'timer', ms: input.durationMs })
      await next(input)
    },
  }
}

function listenerOf(tell: Emit): ReplayListener {
  let plans = 0
  return {
    passBegins: ({ pass }, isOutside) => tell({ told: 'pass', pass, isOutside }),
    planBegins(plan, pass) {
      const id = ++plans
      tell({ told: 'plan', plan: id, ...placeOf(pass) })
      return planListener(tell, id, plan)
    },
  }
}

function planListener<Pass>(tell: Emit, id: number, plan: Step<Pass>): PlanListener {
  const steps = recordSteps(plan)
  const hooks: Required<StepHooks> = {
    before(step, pass) {
      steps.hooks.before(step, pass)
      tell({ told: 'step', plan: id, name: step.name, isLeaf: isLeaf(step) })
    },
    after(step, result, pass) {
      steps.hooks.after(step, result, pass)
      const said = 'thrown' in result ? `threw ${String(result.thrown)}` : saidBy(result) || 'done'
      tell({ told: 'stepped', plan: id, name: step.name, isLeaf: isLeaf(step), said })
    },
  }
  return { hooks, ended: () => tell({ told: 'planned', plan: id, trace: steps.trace() }) }
}

function isLeaf(step: { readonly name: string; readonly children?: readonly unknown[] }): boolean {
  return (step.children ?? []).length === 0
}

/** The object of a pass, and the phase in job mode. */
function placeOf(pass: unknown): Pick<Extract<Entry, { told: 'plan' }>, 'subject' | 'phase'> {
  const { subject, draft } = pass as { readonly subject?: unknown; readonly draft?: { readonly phase?: unknown } }
  const phase = draft?.phase
  return { ...(isSubject(subject) && { subject }), ...(typeof phase === 'string' && { phase }) }
}

function isSubject(value: unknown): value is Subject {
  const { kind, name } = (value ?? {}) as { readonly kind?: unknown; readonly name?: unknown }
  return typeof kind === 'string' && typeof name === 'string'
}

/** An activity failure is reported by its cause; the wrapper only says that an activity failed. */
function failureOf(error: unknown): ReplayFailure {
  const { cause } = error as { readonly cause?: unknown }
  const {
    name = '',
    message = String(error),
    type,
  } = (cause instanceof Error ? cause : error) as {
    readonly name?: string
    readonly message?: string
    readonly type?: string
  }
  return { type: type ?? name, message }
}
