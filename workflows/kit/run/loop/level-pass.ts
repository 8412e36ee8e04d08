// Runs one pass in level mode: builds the `LevelPass` for the author's steps from the observed state, runs the steps
// and writes the changed status. The type `LevelPass` is in ../level/level-pass.ts. A state is the result of one query
// of the controller, by the query's name.
//
//   P1. The status that `save` has written is not written again, and later changes are compared with it.
//   P2. Reading a state whose query failed throws the failure of that query, wherever a step reads the state. The
//       failure becomes a fault of the step.
//   P3. Reading a lazy state before `refresh` is a bug: it throws a plain Error, which fails the workflow task.

import { type AnyLevelPass, type LevelController, resourceOf, sentTarget } from '../level/define-level.ts'
import type { LatestTime } from '../level/latest-time.ts'
import type { By, Subject } from '../subject.ts'
import type { LevelActivities, LevelQuery, Observed } from '../level/level-activities.ts'
import type { JsonObject } from '../level/level-pass.ts'
import { joinOutcomes, type Outcome } from '../../plan/outcome.ts'
import type { StateQuery } from '../level/query.ts'
import { LEVEL_SUMMARIES } from '../temporal-ui.ts'
import { statusPatch, applyStatusPatch } from '../level/status-patch.ts'
import { statusBesideBug } from '../bug-condition.ts'
import { writesFor } from '../level/declared-writes.ts'
import type { Step } from '../../plan/step.ts'
import { actsOf, type PiggybackedEvents } from './level-acts.ts'
import { ownCalls } from './own-calls.ts'
import { runTime, timeAt } from './deadlines.ts'
import { actionLog, attempt, finalFailure, retryableFailure, runOnTemporal, shortActivities } from './temporal.ts'

/** The observed state of a pass. */
export interface ObservedPass {
  readonly subject: Subject
  readonly by: By
  readonly observed: Observed
  /** Kubernetes Events that the pass's next activity records (`settings.events: 'along'`). */
  readonly piggybacked: PiggybackedEvents
  /** The latest time by all known clocks, for time limits (latest-time.ts). */
  readonly latest: LatestTime
}

/** Runs the author's steps, then writes the changed status. */
export async function runLevelSteps(
  controller: LevelController,
  step: Step<AnyLevelPass>,
  observedPass: ObservedPass,
): Promise<Outcome> {
  const { pass, saveEnd } = passOf(controller, observedPass)
  const outcome = await runOnTemporal(step, pass, controller.hooks)
  // `attempt` returns an outcome only if the write failed.
  const saved = await attempt(saveEnd)
  return 'outcome' in saved ? joinOutcomes(outcome, saved.outcome) : outcome
}

function passOf(
  controller: LevelController,
  { subject, by, observed, piggybacked, latest }: ObservedPass,
): { readonly pass: AnyLevelPass; readonly saveEnd: () => Promise<void> } {
  const { refreshLevel, writeLevelStatus } = shortActivities<LevelActivities>(LEVEL_SUMMARIES)
  const actor = { by, subject, target: sentTarget(controller.target) }
  // Removes the waiting Events from `piggybacked`: call it once for each activity.
  const base = () => ({ ...actor, ...piggybacked.take() })
  const queries = queriesOf(controller)
  // Templates use the target as observed at the start of the pass, and the settings of the controller's wing: the
  // controllers of one API group, which `--wings` enables.
  const templateValues = { target: observed.target, settings: observed.wing }
  const declared = { ...controller, writes: writesFor(controller.writes, templateValues) }
  const state = stateOf(controller, observed)
  const status: AnyLevelPass['status'] = {}
  let current: JsonObject = observed.target
  const save = async (isEnd: boolean) => {
    // The target was deleted: `observed.target` has its identity only.
    if (observed.isGone === true) return
    const wanted = statusBesideBug(status, current['status'], { controller: controller.name, isEnd })
    const patch = statusPatch(wanted, current['status'])
    if (patch === undefined) return
    const version = current.metadata.resourceVersion
    const saved = await writeLevelStatus({ ...base(), version, ...patch })
    // P1. Without `saved` the target was deleted, or replaced during the write; later steps see the patched status.
    const metadata = { ...current.metadata, resourceVersion: saved ?? version }
    current = { ...current, metadata, status: applyStatusPatch(current['status'], patch) }
  }
  const pass: AnyLevelPass = {
    subject,
    by,
    state,
    status,
    act: actsOf(declared, actor, piggybacked),
    call: (activities) => ownCalls(controller, subject, activities),
    now: runTime(),
    latest: timeAt(latest.atMs),
    settings: observed.wing,
    log: actionLog({ controller: controller.name, object: placeOf(subject) }),
    get target() {
      return current
    },
    save: () => save(false),
    async refresh(name, narrowed) {
      const query = Object.hasOwn(queries, name) ? queries[name] : undefined
      if (query === undefined) throw new Error(`controller ${controller.name} has no state "${name}"`)
      const { isGone } = observed
      const known = isGone === true ? { isGone } : { version: current.metadata.resourceVersion }
      const { found } = await refreshLevel({ ...base(), ...known, state: name, query, ...(narrowed && { narrowed }) })
      Object.defineProperty(state, name, { ...PROPERTY, writable: true, value: found })
      return found
    },
  }
  return { pass, saveEnd: () => save(true) }
}

/** The object in log lines: `Widget default/one`. */
function placeOf({ kind, namespace, name }: Subject): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
}

const PROPERTY = { enumerable: true, configurable: true }

function stateOf(
  { name: controller, queries }: Pick<LevelController, 'name' | 'queries'>,
  { states, unreadable = {} }: Observed,
): Record<string, unknown> {
  const names = Object.keys(queries)
  // A state that was not found is undefined, also under a name that every object has (`constructor`).
  const state: Record<string, unknown> = { ...Object.fromEntries(names.map((name) => [name, undefined])), ...states }
  for (const [name, { code, message, retryable }] of Object.entries(unreadable)) {
    const get = (): never => {
      throw retryable ? retryableFailure(code, message) : finalFailure(code, message)
    }
    // P2
    Object.defineProperty(state, name, { ...PROPERTY, get })
  }
  // P3
  for (const [name, { lazy }] of Object.entries(queries)) {
    const get = (): never => {
      throw new Error(`state ${name} of controller ${controller} is lazy; call \`pass.refresh\` before you read it`)
    }
    if (lazy === true) Object.defineProperty(state, name, { ...PROPERTY, get })
  }
  return state
}

/** The controller's queries with the resource of each kind. */
export function queriesOf(controller: LevelController): Readonly<Record<string, LevelQuery>> {
  // An activity's input cannot contain the function `view`. `viewed` makes the activity apply it to each object.
  const sent = ({ view, ...query }: StateQuery): LevelQuery => ({
    ...resourceOf(controller, query.kind),
    query: view === undefined ? query : { ...query, viewed: true },
  })
  return Object.fromEntries(Object.entries(controller.queries).map(([name, query]) => [name, sent(query)]))
}
