// Reports the faults of a pass as a condition of its object. Plans use it explicitly; faults do not enter the status by themselves.
//
//   R1. A fault sets the condition to False, with the first fault's code and all messages; a stop sets it to False with the reason Waiting. A
//       requested
// pass alone changes nothing.
//   R2. A pass that observed an outdated object (`Changed`) sets nothing, because the next pass starts immediately.
//   R3. With `faultsOnly` a pass without faults sets nothing: an earlier step has set a more specific condition.

import { type Condition, type ConditionChange, setCondition } from '../conditions.ts'
import { CHANGED } from '../next-pass.ts'
import type { JsonValue } from '../../kind/schema.ts'
import { type ConditionEntry, removedEntry } from './status-patch.ts'
import { lastAction, type LastAction } from '../../plan/step.ts'
import { done, type Outcome } from '../../plan/outcome.ts'

/** The required part of a pass; every `LevelPass` whose target has conditions fits. */
export interface ReportingPass {
  readonly now: Date
  readonly target: {
    readonly metadata: { readonly generation: number }
    readonly status?: { readonly conditions?: readonly Condition[] }
  }
  readonly status: Record<string, JsonValue>
}

/** Options of `reportFaults`. */
export interface ReportOptions {
  /** The condition's type; its status is True without faults: `Ready`, `Available`. */
  readonly type: string
  /** The message without faults. */
  readonly message?: string
  /** The plan sets this condition itself in every pass without faults (R3). */
  readonly faultsOnly?: boolean
}

/** The last step of a plan: `always(body, reportFaults({ type: 'Ready' }))`. Writes nothing if the condition is unchanged. */
export function reportFaults<Pass extends ReportingPass>(options: ReportOptions): LastAction<Pass> {
  const { type, message, faultsOnly = false } = options
  return lastAction<Pass>(`report${type}`, (pass, outcome) => {
    if (faultsOnly && outcome.faults.length === 0) return done
    const said = sayingOf(outcome, message)
    if (said !== undefined) setPassCondition(pass, { type, ...said })
    return done
  })
}

/** Sets one condition, on top of conditions that the pass has set before. */
export function setPassCondition({ target, status, now }: ReportingPass, change: ConditionChange): void {
  const before = (status['conditions'] as readonly Condition[] | undefined) ?? target.status?.conditions
  const { generation } = target.metadata
  const after = setCondition(before, { observedGeneration: generation, ...change }, now.toISOString())
  if (after !== before) status['conditions'] = after
}

/** Removes a condition of any writer; other conditions stay. A missing condition changes nothing. */
export function removePassCondition({ target, status }: ReportingPass, type: string): void {
  const before = (status['conditions'] as readonly ConditionEntry[] | undefined) ?? target.status?.conditions ?? []
  if (!before.some((condition) => condition.type === type)) return
  const others = before.filter((condition) => condition.type !== type) as readonly ConditionEntry[]
  status['conditions'] = [...others, removedEntry(type)]
}

// A length that users can read.
const LONGEST_MESSAGE = 2000

function sayingOf(
  { faults, stopped }: Outcome,
  message = 'the last pass met no fault',
): Omit<ConditionChange, 'type'> | undefined {
  const reported = faults.filter(({ code }) => code !== CHANGED)
  const [first] = reported
  if (first !== undefined) {
    const messages = reported.map((fault) => fault.message).join('; ')
    return { status: 'False', reason: first.code, message: messages.slice(0, LONGEST_MESSAGE) }
  }
  if (faults.length > 0) return undefined
  if (stopped !== undefined) return { status: 'False', reason: 'Waiting', message: stopped }
  return { status: 'True', reason: 'Reconciled', message }
}
