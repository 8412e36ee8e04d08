// One pass of a controller in level mode without servers, for unit tests: what was observed is given, what is written is kept, and faults are
// made as a test wants them. It does what a run does (run/loop/run-level.ts) around the author's steps: finalizer, deletion, status, Warning.

import type { AnyLevelPass, LevelController } from '../run/define-level.ts'
import { resourceOf } from '../run/define-level.ts'
import { CHANGED, nextPass } from '../run/next-pass.ts'
import type { JsonValue } from '../kind/schema.ts'
import type { JsonObject, LevelActs, WantedObject } from '../run/level.ts'
import { done, type Fault, interrupts, joinOutcomes, type Outcome } from '../plan/outcome.ts'
import { nop, runStep, type Step, type StepHooks } from '../plan/step.ts'
import { recordSteps } from '../plan/trace.ts'
import { changedFields } from '../run/status-fields.ts'
import { fakeCluster } from './fake-cluster.ts'
import { fakeCalls } from './fake-calls.ts'
import { faultsOf, FakedFailure, testRuntime } from './faked-faults.ts'
import type { FakedCalls, FakedFaults, GivenPass, PassCourse, TestEvent, TestWrite } from './pass-course.ts'
import { metadataOf, type Unstored } from './stored-objects.ts'

/**
 * Runs one pass.
 *
 * @throws what the steps throw that is no fault: bugs.
 */
export async function runPass<State, Target extends { readonly metadata: object }>(
  controller: LevelController<State, Target>,
  given: GivenPass<State, Target>,
): Promise<PassCourse<State, Target>> {
  const target = targetOf(controller, given.target)
  const scene = sceneOf(controller, target)
  const ran = await runStepOver(controller, scene.step, { ...given, target: scene.target })
  const hasEnded = !interrupts(ran.outcome)
  return {
    ...ran,
    ended: hasEnded ? scene.end : undefined,
    finalizer: scene.finalizer === 'taken off' && !hasEnded ? undefined : scene.finalizer,
    // The queries and the kind of the same definition describe them.
    next: { target: withStatus(scene.target, ran.status) as unknown as Target, state: ran.state as State },
  }
}

interface Scene {
  readonly step: Step<AnyLevelPass>
  /** As the step sees it. */
  readonly target: JsonObject
  /** What the run comes to when the step is done. */
  readonly end: 'Converged' | 'Deleted'
  readonly finalizer: PassCourse<unknown, unknown>['finalizer']
}

function sceneOf({ plan, onDelete = nop, finalizer }: LevelController, target: JsonObject): Scene {
  const { deletionTimestamp, finalizers = [] } = target.metadata
  const isHeld = finalizer !== undefined && finalizers.includes(finalizer)
  if (deletionTimestamp !== undefined)
    return { step: isHeld ? onDelete : nop, target, end: 'Deleted', finalizer: isHeld ? 'taken off' : undefined }
  if (isHeld || finalizer === undefined) return { step: plan, target, end: 'Converged', finalizer: undefined }
  const guarded = { ...target, metadata: { ...target.metadata, finalizers: [...finalizers, finalizer] } }
  return { step: plan, target: guarded, end: 'Converged', finalizer: 'put on' }
}

function withStatus(target: JsonObject, written: Readonly<Record<string, JsonValue>>): JsonObject {
  const kept = Object.entries({ ...(target['status'] as object | undefined), ...written }).filter(
    ([, value]) => value !== null,
  )
  return kept.length === 0 ? target : { ...target, status: Object.fromEntries(kept) }
}

interface Surroundings {
  readonly target: JsonObject
  readonly state?: Readonly<Record<string, unknown>>
  readonly calls?: FakedCalls
  readonly fails?: FakedFaults
}

/** A state that cannot be read is thrown at whoever asks for it, as in a run. */
function readable(state: Record<string, unknown>, fails: FakedFaults['observe']): Record<string, unknown> {
  const shown = { ...state }
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
  const { target, calls = {}, fails = {} } = given
  const cluster = fakeCluster(controller, target, given.state ?? {})
  const writes: TestWrite[] = []
  const { namespace, name, uid } = target.metadata
  const state = readable(cluster.state, fails.observe)
  const pass: AnyLevelPass = {
    subject: { kind: target.kind, uid, namespace, name },
    by: { workflowID: `${controller.name}/${uid}`, runID: 'run', pass: 1 },
    target,
    state,
    refresh: (name) => {
      throwIf(faultsOf(fails.refresh, name))
      const found = cluster.look(name)
      Object.defineProperty(state, name, { enumerable: true, configurable: true, writable: true, value: found })
      return Promise.resolve(found)
    },
    act: actsOf(controller, { cluster, writes, fails }),
    call: fakeCalls(controller, calls, fails.call),
    status: {},
  }
  const recorder = recordSteps(step)
  const outcome = await runStep(step, pass, testRuntime, both(recorder.hooks, controller.hooks))
  const status = changedFields(pass.status, target['status'])
  const isLost = Object.keys(status).length > 0 && fails.status !== undefined
  const whole = isLost ? joinOutcomes(outcome, { ...done, faults: [fails.status] }) : outcome
  return {
    ...{ outcome: whole, writes, written: writes.map(textOf), status: isLost ? {} : status },
    ...{ events: warningsOf(whole), trace: recorder.trace() },
    state: Object.fromEntries(Object.keys(controller.queries).map((one) => [one, cluster.look(one)])) as object,
  }
}

interface Acting {
  readonly cluster: ReturnType<typeof fakeCluster>
  readonly writes: TestWrite[]
  readonly fails: FakedFaults
}

function actsOf(controller: LevelController, { cluster, writes, fails }: Acting): LevelActs {
  const refuseUnknown = ({ apiVersion, kind }: Pick<WantedObject, 'apiVersion' | 'kind'>) => {
    try {
      resourceOf(controller, `${apiVersion}/${kind}`)
    } catch (error) {
      throwIf({ code: 'UnknownKind', message: error instanceof Error ? error.message : '', retryable: false })
    }
  }
  return {
    // Promises that reject, as in a run: a step may start two and await them together.
    apply: (object) =>
      promised(() => {
        refuseUnknown(object)
        throwIf(faultsOf(fails.apply, object))
        const stranger = cluster.strangerOf(object)
        const message = `${object.kind} ${object.metadata.name} is owned by ${stranger ?? ''}`
        if (stranger !== undefined) throwIf({ code: 'OwnedByAnother', message, retryable: false })
        if (cluster.apply(object)) writes.push({ verb: 'apply', object })
      }),
    remove: (object) =>
      promised(() => {
        refuseUnknown(object)
        throwIf(faultsOf(fails.remove, object))
        cluster.remove(object)
        writes.push({ verb: 'remove', object })
      }),
  }
}

async function promised(act: () => void): Promise<void> {
  await Promise.resolve()
  act()
}

function throwIf(fault: Fault | undefined): void {
  if (fault !== undefined) throw new FakedFailure(fault)
}

function targetOf({ target }: LevelController, given: Unstored<{ readonly metadata: object }>): JsonObject {
  const { apiVersion, kind, withoutNamespace } = target
  const { namespace, ...metadata } = metadataOf(given.metadata ?? {})
  return {
    ...{ ...given, apiVersion, kind },
    metadata: (withoutNamespace === true ? metadata : { namespace, ...metadata }) as JsonObject['metadata'],
  }
}

/** As settle tells them; that a pass has to look again is no news. */
function warningsOf(outcome: Outcome): readonly TestEvent[] {
  const { fault } = nextPass(outcome, 0)
  return fault === undefined || fault.reason === CHANGED ? [] : [{ type: 'Warning', ...fault }]
}

function textOf({ verb, object }: TestWrite): string {
  return `${verb} ${object.kind} ${object.metadata.name}`
}

function both(ours: Required<StepHooks>, theirs: StepHooks = {}): StepHooks {
  return {
    before(step) {
      ours.before(step)
      theirs.before?.(step)
    },
    after(step, result) {
      ours.after(step, result)
      theirs.after?.(step, result)
    },
  }
}
