// The condition `Ready` with status False and reason `Bug`, with which the engine reports on the object that code of its controller threw an error. A worker
// writes it outside of the run, because the workflow task of such a run does not complete (activities/run/report-bug.ts). Pure.
//
//   B1. The message begins with the controller's name. Only a pass of this controller ends the report.
//   B2. While the report stands, a pass does not write `Ready`, except at its end by the controller of the report: otherwise a pass that saves `Ready` and
//       then throws would write it at every retry.
//   B3. If the plan of the controller does not set `Ready`, the end of the pass removes the condition.

import type { Condition, ConditionChange } from './conditions.ts'
import { removedEntry } from './level/status-patch.ts'
import type { JsonValue } from '../kind/schema.ts'

const READY = 'Ready'

/** Starts the message of a bug (B1). */
export function bugPrefix(controller: string): string {
  return `controller "${controller}": `
}

/** Starts the advice at the end of the message of a bug, after a semicolon. */
export const BUG_REMEDY = 'fix the code and restart the worker'

/** The message of a bug without the advice at its end. */
export function withoutBugRemedy(message: string): string {
  const end = message.indexOf(`; ${BUG_REMEDY}`)
  return end === -1 ? message : message.slice(0, end)
}

/** @param message starts with `bugPrefix`. */
export function bugCondition(message: string, generation: number | undefined): ConditionChange {
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  return { type: READY, status: 'False', reason: 'Bug', message, ...observed }
}

/** The report of a bug among the conditions of a status; undefined without one. */
export function bugReportIn(status: unknown): Pick<Condition, 'message'> | undefined {
  const { conditions } = (status ?? {}) as { readonly conditions?: unknown }
  if (!Array.isArray(conditions)) return undefined
  return (conditions as readonly (Partial<Condition> | null)[]).find(
    (one): one is Condition => one?.type === READY && one.reason === 'Bug' && typeof one.message === 'string',
  )
}

type Status = Readonly<Record<string, JsonValue>>

/**
 * The status to write while the object has the report of a bug (B2, B3); without a report the wanted status unchanged.
 *
 * @param isEnd the pass has run without throwing.
 */
export function statusBesideBug(
  wanted: Status,
  found: unknown,
  { controller, isEnd }: { readonly controller: string; readonly isEnd: boolean },
): Status {
  const report = bugReportIn(found)
  if (report === undefined) return wanted
  const said = conditionsOf(wanted)
  if (said === undefined) return wanted
  const others = said.filter(({ type }) => type !== READY)
  if (!isEnd || !report.message.startsWith(bugPrefix(controller))) return { ...wanted, conditions: others }
  return said.some(({ type }) => type === READY) ? wanted : { ...wanted, conditions: [...said, removedEntry(READY)] }
}

type Entry = ReturnType<typeof removedEntry>

/** Undefined: the conditions are not a list of entries with types, so the controller replaces them as a whole. */
function conditionsOf({ conditions = [] }: Status): readonly Entry[] | undefined {
  if (!Array.isArray(conditions)) return undefined
  const entries = conditions as readonly (Partial<Entry> | null)[]
  return entries.every((one): one is Entry => typeof one?.type === 'string') ? entries : undefined
}
