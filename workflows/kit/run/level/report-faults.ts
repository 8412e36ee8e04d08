// What a pass came to, as a condition of its object: for plans that tell their faults in the status, which nothing does by itself.
//
//   R1. A fault makes it False, with the code of the first and the messages of all; so does a stop, which waits for something. A wish for another
//       pass says nothing of either.
//   R2. A pass that looked at an older object than there is (`Changed`) says nothing: the next one looks again at once.
//   R3. With `faultsOnly` it says nothing without a fault: a step before it has set the condition, and knows more than that nothing went wrong.

import { type Condition, type ConditionChange, setCondition } from '../conditions.ts'
import { CHANGED } from '../next-pass.ts'
import type { JsonValue } from '../../kind/schema.ts'
import { removedEntry, type ConditionEntry } from './status-patch.ts'
import { type LastAction, lastAction } from '../../plan/last.ts'
import { done, type Outcome } from '../../plan/outcome.ts'

/** What it needs of a pass; every `LevelPass` whose target has conditions is one. */
export interface ReportingPass {
  readonly now: Date
  readonly target: {
    readonly metadata: { readonly generation: number }
    readonly status?: { readonly conditions?: readonly Condition[] }
  }
  readonly status: Record<string, JsonValue>
}

export interface ReportOptions {
  /** Of the condition; it is True when nothing is wrong: `Ready`, `Available`. */
  readonly type: string
  /** What is said when nothing is wrong. */
  readonly message?: string
  /** The plan sets this condition itself, in every pass that meets no fault (R3). */
  readonly faultsOnly?: boolean
}

/** The last step of a plan: `always(body, reportFaults({ type: 'Ready' }))`. Writes nothing when the condition says so already. */
export function reportFaults<Pass extends ReportingPass>(options: ReportOptions): LastAction<Pass> {
  const { type, message, faultsOnly = false } = options
  return lastAction<Pass>(`report${type}`, (pass, outcome) => {
    if (faultsOnly && outcome.faults.length === 0) return done
    const said = sayingOf(outcome, message)
    if (said !== undefined) setPassCondition(pass, { type, ...said })
    return done
  })
}

/** Sets one condition in the status of a pass, on top of those that the pass has set before. */
export function setPassCondition({ target, status, now }: ReportingPass, change: ConditionChange): void {
  const before = (status['conditions'] as readonly Condition[] | undefined) ?? target.status?.conditions
  const { generation } = target.metadata
  const after = setCondition(before, { observedGeneration: generation, ...change }, now.toISOString())
  if (after !== before) status['conditions'] = after
}

/** Takes one condition out of the status of a pass, whoever has set it; others stay. One that is not there changes nothing. */
export function removePassCondition({ target, status }: ReportingPass, type: string): void {
  const before = (status['conditions'] as readonly ConditionEntry[] | undefined) ?? target.status?.conditions ?? []
  if (!before.some((condition) => condition.type === type)) return
  const others = before.filter((condition) => condition.type !== type) as readonly ConditionEntry[]
  status['conditions'] = [...others, removedEntry(type)]
}

// For people.
const LONGEST_MESSAGE = 2000

function sayingOf(
  { faults, stopped }: Outcome,
  message = 'the last pass met no fault',
): Omit<ConditionChange, 'type'> | undefined {
  const lasting = faults.filter(({ code }) => code !== CHANGED)
  const [first] = lasting
  if (first !== undefined) {
    const messages = lasting.map((fault) => fault.message).join('; ')
    return { status: 'False', reason: first.code, message: messages.slice(0, LONGEST_MESSAGE) }
  }
  if (faults.length > 0) return undefined
  if (stopped !== undefined) return { status: 'False', reason: 'Waiting', message: stopped }
  return { status: 'True', reason: 'Reconciled', message }
}
