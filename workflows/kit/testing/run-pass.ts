// `runPass`: one pass of a controller in level mode without servers, for unit tests. The test gives the observed state and faults. Like the real run
// (run/loop/run-level.ts) it handles finalizer, deletion, status and Warning Events around the author's steps.

import { type AnyLevelPass, type LevelController, needsFinalizerOf } from '../run/level/define-level.ts'
import { CHANGED, nextPass } from '../run/next-pass.ts'
import { canonicalJson } from '../kind/projection.ts'
import type { JsonValue } from '../kind/schema.ts'
import type { JsonObject } from '../run/level/level-pass.ts'
import { done, isDone, joinOutcomes, type Outcome } from '../plan/outcome.ts'
import { nop, runStep, type Step, type StepHooks } from '../plan/step.ts'
import { recordSteps } from '../plan/trace.ts'
import { applyStatusPatch, statusPatch } from '../run/level/status-patch.ts'
import { fakeCluster } from './fake-cluster.ts'
import { fakeCalls, FakedFailure, faultsOf, testRuntime } from './fake-activities.ts'
import type { ActionLog } from '../run/level/own-activities.ts'
import { testActs, throwIf } from './test-acts.ts'
import type { FakedCalls, FakedFaults, GivenPass, PassCourse, TestEvent, TestWrite } from './pass-course.ts'
import { metadataOf, namespaceOf, type Unstored } from './stored-objects.ts'
import { writesFor } from '../run/level/declared-writes.ts'

/**
 * Runs one pass.
 *
 * @throws errors of steps that are no faults: bugs.
 */
export async function runPass<State, Target extends { readonly metadata: object }>(
  controller: LevelController<State, Target>,
  given: GivenPass<State, Target>,
): Promise<PassCourse<State, Target>> {
  const target = targetOf(controller, given.target)
  const scene = sceneOf(controller, target)
  const { target: left, ...ran } = await runStepOver(controller, scene.step, { ...given, target: scene.target })
  const hasEnded = isDone(ran.outcome)
  return {
    ...ran,
    ended: hasEnded ? scene.end : undefined,
    finalizer: scene.end === 'Deleted' && !hasEnded ? undefined : scene.finalizer,
    // The queries and the kind of the same definition describe them.
    next: { target: left as unknown as Target, state: ran.state as State },
  }
}

interface Scene {
  readonly step: Step<AnyLevelPass>
  /** The pass of a step. */
  readonly target: JsonObject
  /** The run's result after the step. */
  readonly end: 'Converged' | 'Deleted'
  readonly finalizer: PassCourse<unknown, unknown>['finalizer']
}

function sceneOf(controller: LevelController, target: JsonObject): Scene {
  const { plan, onDelete = nop, onGone = nop, finalizer } = controller
  const { deletionTimestamp, finalizers = [] } = target.metadata
  const isHeld = finalizer !== undefined && finalizers.includes(finalizer)
  if (deletionTimestamp !== undefined)
    return { step: isHeld ? onDelete : onGone, target, end: 'Deleted', finalizer: isHeld ? 'taken off' : undefined }
  const isNeeded = needsFinalizerOf(controller, target)
  if (finalizer === undefined || isHeld === isNeeded)
    return { step: plan, target, end: 'Converged', finalizer: undefined }
  return {
    step: plan,
    target: withFinalizer(target, finalizer, isNeeded),
    end: 'Converged',
    finalizer: isNeeded ? 'put on' : 'taken off',
  }
}

function withFinalizer(target: JsonObject, finalizer: string, isNeeded: boolean): JsonObject {
  const others = (target.metadata.finalizers ?? []).filter((one) => one !== finalizer)
  return { ...target, metadata: { ...target.metadata, finalizers: isNeeded ? [...others, finalizer] : others } }
}

interface Surroundings {
  readonly target: JsonObject
  readonly state?: Readonly<Record<string, unknown>>
  readonly calls?: FakedCalls
  readonly fails?: FakedFaults
  readonly released?: GivenPass<unknown, unknown>['released']
  readonly settings?: JsonValue
  readonly latest?: Date
}

/** Access to an unreadable state, or to a lazy state before `refresh`, throws as in a run. */
function readable(
  { queries }: Pick<LevelController, 'queries'>,
  state: Record<string, unknown>,
  fails: FakedFaults['observe'],
): Record<string, unknown> {
  const shown = { ...state }
  for (const [name, { lazy }] of Object.entries(queries)) {
    const get = (): never => {
      throw new Error(`state ${name} is lazy; call \`pass.refresh\` before you read it`)
    }
    if (lazy === true) Object.defineProperty(shown, name, { enumerable: true, configurable: true, get })
  }
  for (const name of Object.keys(state)) {
    const fault = faultsOf(fails, name)
    if (fault === undefined) continue
    const get = (): never => {
      throw new FakedFailure(fault)
    }
    Object.defineProperty(shown, name, { enumerable: true, configurable: true, get })
  }
  return shown
}

async function runStepOver(controller: LevelController, step: Step<AnyLevelPass>, given: Surroundings) {
  const { calls = {}, fails = {} } = given
  const cluster = fakeCluster(controller, given.target, given.state ?? {}, given.settings)
  const ground = { target: given.target, settings: given.settings }
  const declared = { ...controller, writes: writesFor(controller.writes, ground) }
  const writes: TestWrite[] = []
  const events: TestEvent[] = []
  const logged: string[] = []
  const state = readable(controller, cluster.state, fails.observe)
  const draft: AnyLevelPass['status'] = {}
  let target = given.target
  const { name, uid } = target.metadata
  const pass: AnyLevelPass = {
    subject: { kind: target.kind, uid, namespace: namespaceOf(target), name },
    by: { workflowID: `${controller.name}/${uid}`, runID: 'run', pass: 1 },
    get target() {
      return target
    },
    ...timesOf(given),
    log: logOf(logged),
    state,
    settings: given.settings,
    refresh: (name, narrowed) => {
      throwIf(faultsOf(fails.refresh, name))
      const found = cluster.look(name, narrowed)
      Object.defineProperty(state, name, { enumerable: true, configurable: true, writable: true, value: found })
      return Promise.resolve(found)
    },
    act: testActs(declared, { cluster, target, fails, released: given.released, writes, events }),
    call: fakeCalls(controller, calls, fails.call),
    status: draft,
    save: async () => {
      await Promise.resolve()
      throwIf(fails.status)
      const news = statusPatch(draft, target['status'])
      if (news !== undefined) target = { ...target, status: applyStatusPatch(target['status'], news) }
    },
  }
  const recorder = recordSteps(step)
  const outcome = await runStep(
    step,
    pass,
    testRuntime,
    both(recorder.hooks, step === controller.onGone ? undefined : controller.hooks),
  )
  const last = statusPatch(draft, target['status'])
  const isLost = last !== undefined && fails.status !== undefined
  const whole = isLost ? joinOutcomes(outcome, { ...done, faults: [fails.status] }) : outcome
  if (last !== undefined && !isLost) target = { ...target, status: applyStatusPatch(target['status'], last) }
  return {
    outcome: whole,
    target,
    logged,
    writes,
    written: writes.map(textOf),
    status: writtenOf(given.target['status'], target['status']),
    events: [...events, ...warningsOf(whole)],
    trace: recorder.trace(),
    state: Object.fromEntries(Object.keys(controller.queries).map((one) => [one, cluster.look(one)])) as object,
  }
}

function timesOf({ latest }: Surroundings): Pick<AnyLevelPass, 'now' | 'latest'> {
  // eslint-disable-next-line no-restricted-globals -- this runs in tests, which set the clock
  const now = new Date()
  return { now, latest: latest ?? now }
}

/** The changed fields with their current values; null for removed ones. */
function writtenOf(before: unknown = {}, after: unknown = {}): Readonly<Record<string, JsonValue>> {
  const [old, now] = [before, after] as readonly Readonly<Record<string, JsonValue>>[]
  const fields = new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})])
  const differing = [...fields].filter(
    (field) => canonicalJson(old?.[field] ?? null) !== canonicalJson(now?.[field] ?? null),
  )
  return Object.fromEntries(differing.map((field) => [field, now?.[field] ?? null]))
}

function targetOf({ target }: LevelController, given: Unstored<{ readonly metadata: object }>): JsonObject {
  const { apiVersion, kind, withoutNamespace } = target
  const { namespace, ...metadata } = metadataOf(given.metadata ?? {})
  return {
    ...given,
    apiVersion,
    kind,
    metadata: (withoutNamespace === true ? metadata : { namespace, ...metadata }) as JsonObject['metadata'],
  }
}

/** The faults that settle reports; a conflict is not one of them. */
function warningsOf(outcome: Outcome): readonly TestEvent[] {
  const { fault } = nextPass(outcome, 0)
  return fault === undefined || fault.reason === CHANGED ? [] : [{ type: 'Warning', ...fault }]
}

function textOf(write: TestWrite): string {
  const { verb, object } = write
  return `${verb} ${object.kind} ${object.metadata.name}${write.verb === 'release' ? ` ${write.finalizer}` : ''}`
}

/** `info message {"field":"value"}`. */
function logOf(lines: string[]): ActionLog {
  const line = (level: string) => (message: string, fields?: object) => {
    lines.push([level, message, ...(fields === undefined ? [] : [JSON.stringify(fields)])].join(' '))
  }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

type Hooks = StepHooks<AnyLevelPass>

function both(ours: Required<Hooks>, theirs: Hooks = {}): Hooks {
  return {
    before(step, pass) {
      ours.before(step, pass)
      theirs.before?.(step, pass)
    },
    after(step, result, pass) {
      ours.after(step, result, pass)
      theirs.after?.(step, result, pass)
    },
  }
}
