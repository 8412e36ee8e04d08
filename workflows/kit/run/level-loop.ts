// The run of a controller in level mode: passes over one object until it has converged. A later event starts the next run, under the
// same workflow ID. Source: docs/architecture.md "Subjects and routes", docs/adr/0011. No timers: the next due time is a row of the journal.
//
//   V1. A pass observes first: the target and all states, anew. Nothing of an earlier pass is relied upon.
//   V2. Converged is an outcome that is `done` and nothing else. A stop, a wish for another pass or a fault keeps the run open.
//   V3. A wake that arrives before the end leads to a pass that starts after it: the run ends only when none is there (R4 of the loop).
//   V4. The finalizer is on the object before the first action, and off only after `onDelete` came to `done`.
//   V5. What a Secret holds is neither read into the history nor taken from an action.
//   V6. Nobody runs in circles: a plan that wishes for pass after pass at once gets one a second, after the first twenty.

import {
  ApplicationFailure,
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import { type AnyLevelPass, type LevelController, resourceOf } from './define-level.ts'
import type { By, JobInput, Subject } from './job.ts'
import type { LevelActivities, LevelJournal, LevelQuery, Observed } from './level-activities.ts'
import type { JsonObject, LevelActs, WantedObject } from './level.ts'
import { done, interrupts, joinOutcomes, type Outcome } from '../plan/outcome.ts'
import { canonicalJson } from '../kind/projection.ts'
import { attempt, CHANGED, createWakes, faultOf, type RunResult, wakeSignal } from './reconcile-loop.ts'
import type { JsonValue } from '../kind/schema.ts'
import { nop, runStep, type Step } from '../plan/step.ts'
import { insistentActivities, shortActivities, temporalRuntime } from './temporal.ts'

/** So many passes in a row may wish for the next one in less than `CALM_MS`; who goes on so does not converge, and waits that long (V6). */
const MOST_HURRIED = 20
const CALM_MS = 1000

/** The object has converged: its plan came to `done`. */
const CONVERGED = 'Converged'
/** The object is gone, or is going and nothing of ours holds it. */
const DELETED = 'Deleted'

interface PassEnd {
  readonly outcome: Outcome
  /** How the run ends; undefined while it goes on. */
  readonly result: RunResult | undefined
}

/** Runs a controller for one object, until it has converged or is gone. */
export async function runLevel(controller: LevelController, input: JobInput): Promise<RunResult> {
  const { settleLevel, endLevel } = insistentActivities<LevelJournal>()
  const { subject, cause } = input
  const wakes = createWakes()
  let attempts = 0
  let hurried = 0
  setHandler(wakeSignal, wakes.wake)
  for (let pass = 1; ; pass++) {
    await condition(wakes.isWoken)
    wakes.take()
    const { workflowId, runId, firstExecutionRunId } = workflowInfo()
    const by = { workflowID: workflowId, runID: runId, pass }
    const { outcome, result } = await runPass(controller, subject, by)
    attempts = isBackingOff(outcome) ? attempts + 1 : 0
    setCurrentDetails(details(outcome, result))
    if (result === undefined) {
      hurried = isHurried(outcome) ? hurried + 1 : 0
      const againMs = hurried > MOST_HURRIED ? CALM_MS : dueIn(outcome)
      const { target } = controller
      await settleLevel({ by, subject, target, againMs, attempt: attempts, fault: faultOf(outcome) })
    } else if (!wakes.isWoken()) {
      await endLevel({ by, firstRunID: firstExecutionRunId, subject, cause, outcome: result })
      // Looked at again: what came while the row was closed has been signalled (V3).
      if (!wakes.isWoken()) {
        upsertSearchAttributes({ PawlOutcome: [result] })
        return result
      }
    }
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<(input: JobInput) => Promise<RunResult>>(input)
  }
}

async function runPass(controller: LevelController, subject: Subject, by: By): Promise<PassEnd> {
  const base = { by, subject, target: controller.target }
  const { observeLevel } = shortActivities<LevelActivities>()
  const looked = await attempt(() => observeLevel({ ...base, queries: queriesOf(controller) }))
  if ('outcome' in looked) return { outcome: looked.outcome, result: undefined }
  if (looked.value === undefined) return GONE
  const seen = { subject, by, observed: looked.value }
  const { deletionTimestamp, finalizers = [] } = looked.value.target.metadata
  const isHeld = controller.finalizer !== undefined && finalizers.includes(controller.finalizer)
  if (deletionTimestamp !== undefined) return isHeld ? await runDeletion(controller, seen) : GONE
  if (isHeld || controller.finalizer === undefined) return await runPlan(controller, seen)
  // V4
  const held = await finalize(controller, seen, true)
  if ('outcome' in held) return { outcome: held.outcome, result: undefined }
  if (held.value === undefined) return GONE
  return await runPlan(controller, { subject, by, observed: { ...looked.value, target: held.value } })
}

const GONE: PassEnd = { outcome: done, result: DELETED }

async function runPlan(controller: LevelController, seen: Seen): Promise<PassEnd> {
  const outcome = await runSteps(controller, controller.plan, seen)
  return { outcome, result: interrupts(outcome) ? undefined : CONVERGED }
}

async function runDeletion(controller: LevelController, seen: Seen): Promise<PassEnd> {
  const outcome = await runSteps(controller, controller.onDelete ?? nop, seen)
  if (interrupts(outcome)) return { outcome, result: undefined }
  const released = await finalize(controller, seen, false)
  return 'outcome' in released ? { outcome: released.outcome, result: undefined } : GONE
}

async function finalize({ target, finalizer = '' }: LevelController, seen: Seen, guarded: boolean) {
  const { finalizeLevel } = shortActivities<LevelActivities>()
  const { by, subject } = seen
  const version = seen.observed.target.metadata.resourceVersion
  return await attempt(() => finalizeLevel({ by, subject, target, version, finalizer, guarded }))
}

interface Seen {
  readonly subject: Subject
  readonly by: By
  readonly observed: Observed
}

/** Runs the author's steps, then writes what they said about the status. */
async function runSteps(controller: LevelController, step: Step<AnyLevelPass>, seen: Seen): Promise<Outcome> {
  const pass = passOf(controller, seen)
  const ran = await attempt(() => runStep(step, pass, temporalRuntime, controller.hooks))
  const outcome = 'outcome' in ran ? ran.outcome : ran.value
  const status = changedFields(pass.status, pass.target['status'])
  if (Object.keys(status).length === 0) return outcome
  const { writeLevelStatus } = shortActivities<LevelActivities>()
  const { subject, by } = seen
  const version = pass.target.metadata.resourceVersion
  const written = await attempt(() => writeLevelStatus({ by, subject, target: controller.target, version, status }))
  return 'outcome' in written ? joinOutcomes(outcome, written.outcome) : outcome
}

function passOf(controller: LevelController, { subject, by, observed }: Seen): AnyLevelPass {
  const { refreshLevel } = shortActivities<LevelActivities>()
  const base = { by, subject, target: controller.target }
  const queries = queriesOf(controller)
  // What was not found is undefined, also under a name that every object has (`constructor`).
  const nothing = Object.fromEntries(Object.keys(queries).map((name) => [name, undefined]))
  const state: Record<string, unknown> = { ...nothing, ...observed.states }
  return {
    ...{ subject, by, target: observed.target, state, status: {} },
    act: actsOf(controller, base, observed.target),
    async refresh(name) {
      const query = Object.hasOwn(queries, name) ? queries[name] : undefined
      if (query === undefined) throw new Error(`controller ${controller.name} has no state "${name}"`)
      state[name] = (await refreshLevel({ ...base, state: name, query })).found
      return state[name]
    },
  }
}

function actsOf(
  controller: LevelController,
  base: { readonly by: By; readonly subject: Subject; readonly target: LevelController['target'] },
  { metadata }: JsonObject,
): LevelActs {
  const { applyLevel, removeLevel } = shortActivities<LevelActivities>()
  const where = ({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) => {
    try {
      return resourceOf(controller, `${apiVersion}/${kind}`)
    } catch (error) {
      throw finalFailure('UnknownKind', error instanceof Error ? error.message : '')
    }
  }
  return {
    async apply(object) {
      refuseSecrets(object)
      await applyLevel({ ...base, resource: where(object), object })
    },
    async remove(object) {
      const { apiVersion, kind, metadata: of } = object
      const known = { apiVersion, kind, metadata: of }
      if ((await removeLevel({ ...base, resource: where(object), object: known })) === 'removed') return
      const place = of.namespace === undefined ? of.name : `${of.namespace}/${of.name}`
      const message = `${kind} ${place} changed since ${base.subject.kind} ${metadata.name} was looked at`
      throw ApplicationFailure.retryable(message, CHANGED)
    },
  }
}

/** V5 */
function refuseSecrets({ apiVersion, kind, metadata, ...rest }: WantedObject): void {
  if (apiVersion !== 'v1' || kind !== 'Secret') return
  const found = ['data', 'stringData'].filter((field) => Object.keys(rest[field] ?? {}).length > 0)
  if (found.length === 0) return
  const message = `Secret ${metadata.name} is applied with ${found.join(' and ')}; expected none: it would stay in the run's history`
  throw finalFailure('SecretContent', message)
}

/** The action that meets it reports it as its fault. */
function finalFailure(type: string, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type)
}

function queriesOf(controller: LevelController): Readonly<Record<string, LevelQuery>> {
  const { queries } = controller
  return Object.fromEntries(
    Object.entries(queries).map(([name, query]) => [name, { ...resourceOf(controller, query.kind), query }]),
  )
}

/** Absent and null are the same: a status cannot say more than that there is nothing. */
function changedFields(wanted: Readonly<Record<string, JsonValue>>, found: unknown): Record<string, JsonValue> {
  const before = (found ?? {}) as Readonly<Record<string, unknown>>
  const differs = ([field, value]: [string, JsonValue]) => canonicalJson(value) !== canonicalJson(before[field] ?? null)
  return Object.fromEntries(Object.entries(wanted).filter(differs))
}

function isBackingOff({ faults }: Outcome): boolean {
  return faults.some(({ retryable, code }) => retryable && code !== CHANGED)
}

function isHurried({ faults, againMs }: Outcome): boolean {
  return faults.length === 0 && againMs !== undefined && againMs < CALM_MS
}

/** Delay until the next pass; undefined: when something changes. Final faults wish for none of their own. */
function dueIn({ faults, againMs }: Outcome): number | undefined {
  const passing = faults.filter(({ retryable }) => retryable)
  if (passing.length === 0) return againMs
  return passing.every(({ code }) => code === CHANGED) ? 0 : (againMs ?? Number.MAX_SAFE_INTEGER)
}

/** For people who look at the run in Temporal's UI. */
function details(outcome: Outcome, result: RunResult | undefined): string {
  if (result !== undefined) return result
  const { faults, againMs, stopped } = outcome
  const lines = [
    ...faults.map(
      ({ code, message, retryable }) => `- ${retryable ? 'tries again' : 'waits for a change'}: ${code}: ${message}`,
    ),
    ...(stopped === undefined ? [] : [`- waits: ${stopped}`]),
    ...(againMs === undefined ? [] : [`- looks again in ${againMs} ms`]),
  ]
  return lines.join('\n')
}
