// One pass over one object in level mode, as its author's steps see it: what was observed, what they may do, and what they say.
//
//   P1. What a Secret holds is neither read into the history nor taken from an action.
//   P2. Who asks for a state that could not be read gets the fault, whether the state is handed to an action or looked up by it.

import { type AnyLevelPass, type LevelController, resourceOf } from '../define-level.ts'
import type { By, Subject } from '../subject.ts'
import { CHANGED } from '../next-pass.ts'
import type { LevelActivities, LevelQuery, Observed } from '../level-activities.ts'
import type { JsonObject, LevelActs, WantedObject } from '../level.ts'
import { canonicalJson } from '../../kind/projection.ts'
import type { JsonValue } from '../../kind/schema.ts'
import { joinOutcomes, type Outcome } from '../../plan/outcome.ts'
import { LEVEL_TOLD } from '../summaries.ts'
import type { Step } from '../../plan/step.ts'
import { ownCalls } from './own-calls.ts'
import { runTime } from './run-time.ts'
import { actionLog, attempt, finalFailure, retryableFailure, runOnTemporal, shortActivities } from './temporal.ts'

/** What a pass has observed. */
export interface Seen {
  readonly subject: Subject
  readonly by: By
  readonly observed: Observed
}

/** Runs the author's steps, then writes what they said about the status. */
export async function runSteps(controller: LevelController, step: Step<AnyLevelPass>, seen: Seen): Promise<Outcome> {
  const pass = passOf(controller, seen)
  const outcome = await runOnTemporal(step, pass, controller.hooks)
  const status = changedFields(pass.status, pass.target['status'])
  if (Object.keys(status).length === 0) return outcome
  const { writeLevelStatus } = shortActivities<LevelActivities>(LEVEL_TOLD)
  const { subject, by } = seen
  const version = pass.target.metadata.resourceVersion
  const written = await attempt(() => writeLevelStatus({ by, subject, target: controller.target, version, status }))
  return 'outcome' in written ? joinOutcomes(outcome, written.outcome) : outcome
}

function passOf(controller: LevelController, { subject, by, observed }: Seen): AnyLevelPass {
  const { refreshLevel } = shortActivities<LevelActivities>(LEVEL_TOLD)
  const base = { by, subject, target: controller.target }
  const queries = queriesOf(controller)
  const state = stateOf(Object.keys(queries), observed)
  return {
    ...{ subject, by, target: observed.target, state, status: {} },
    act: actsOf(controller, base, observed.target),
    call: (activities) => ownCalls(controller, subject, activities),
    now: runTime(),
    log: actionLog({ controller: controller.name, object: placeOf(subject) }),
    async refresh(name) {
      const query = Object.hasOwn(queries, name) ? queries[name] : undefined
      if (query === undefined) throw new Error(`controller ${controller.name} has no state "${name}"`)
      const { found } = await refreshLevel({ ...base, state: name, query })
      Object.defineProperty(state, name, { ...PROPERTY, writable: true, value: found })
      return found
    },
  }
}

/** `Widget default/one`. */
function placeOf({ kind, namespace, name }: Subject): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
}

const PROPERTY = { enumerable: true, configurable: true }

function stateOf(names: readonly string[], { states, unreadable = {} }: Observed): Record<string, unknown> {
  // What was not found is undefined, also under a name that every object has (`constructor`).
  const state: Record<string, unknown> = { ...Object.fromEntries(names.map((name) => [name, undefined])), ...states }
  for (const [name, { code, message, retryable }] of Object.entries(unreadable)) {
    const get = (): never => {
      throw retryable ? retryableFailure(code, message) : finalFailure(code, message)
    }
    // P2
    Object.defineProperty(state, name, { ...PROPERTY, get })
  }
  return state
}

function actsOf(
  controller: LevelController,
  base: { readonly by: By; readonly subject: Subject; readonly target: LevelController['target'] },
  { metadata }: JsonObject,
): LevelActs {
  const { applyLevel, removeLevel } = shortActivities<LevelActivities>(LEVEL_TOLD)
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
      throw retryableFailure(CHANGED, message)
    },
  }
}

/** P1 */
function refuseSecrets({ apiVersion, kind, metadata, ...rest }: WantedObject): void {
  if (apiVersion !== 'v1' || kind !== 'Secret') return
  const found = ['data', 'stringData'].filter((field) => Object.keys(rest[field] ?? {}).length > 0)
  if (found.length === 0) return
  const message = `Secret ${metadata.name} is applied with ${found.join(' and ')}; expected none: it would stay in the run's history`
  throw finalFailure('SecretContent', message)
}

/** The queries of a controller, each with where its kind is. */
export function queriesOf(controller: LevelController): Readonly<Record<string, LevelQuery>> {
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
