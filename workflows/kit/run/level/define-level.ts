// A controller in level mode as one pure value: the kind of its objects, what it observes, what a pass does. The worker and the bridge
// read what they need of it; a workflow runs it (loop/run-level.ts). Source: docs/adr/0011.

import { type DeclaredWrite, type WrittenKind, writtenKinds } from './declared-writes.ts'
import type { JsonObject } from './level-pass.ts'
import { groupKindOf, isSameGroupKind } from '../../kind/group-kind.ts'
import { isWithoutNamespace, kubernetesPlural } from '../../kind/kubernetes-plurals.ts'
import type { LevelPass } from './level-pass.ts'
import { checkSettings, type LevelSettings } from './level-settings.ts'
import type { OwnActivities } from './own-activities.ts'
import type { Path, Projection } from '../../kind/projection.ts'
import type { StateQuery } from './query.ts'
import type { Step, StepHooks } from '../../plan/step.ts'

/** Where objects of a kind live. */
export interface LevelResource {
  /** `group/version`, or `v1`. */
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  /** Objects of the kind are in no namespace. */
  readonly withoutNamespace?: boolean
}

/** The kind of a controller's objects: a value of `defineKind`, or its names. */
export interface LevelTarget extends LevelResource {
  /** False: status is a part of the object and no endpoint of its own. Default true. */
  readonly statusSubresource?: boolean
  /** Passes write nothing of the object: it is another program's, with its status. Its roles lack what that takes. */
  readonly isReadOnly?: true
  /** Paths that the journal shows to people. Changes of anything else are seen as well, and remembered as a hash. */
  readonly projection?: readonly Path[]
}

/** As it travels with every call. */
export type SentTarget = Pick<LevelTarget, keyof LevelResource | 'statusSubresource'>

export interface LevelDefinition<State, Target> {
  /** Of the controller, its workflow and its field manager (`pawl-<name>`): small first letter, then letters and digits. */
  readonly name: string
  readonly target: LevelTarget
  readonly queries: Readonly<Record<keyof State & string, StateQuery>>
  /** What a pass does while the object is there. */
  readonly plan: Step<LevelPass<State, Target>>
  /**
   * Only events of objects for which it returns true start a run, like predicates of controller-runtime. It sees the metadata and the fields of
   * `target.projection`, of the object before and after the event. Pure. Default: all objects.
   */
  readonly predicate?: (object: Projection) => boolean
  readonly hooks?: StepHooks<LevelPass<State, Target>>
  /** Holds an object under deletion until `onDelete` is done; put on before the first pass. `domain/name`. */
  readonly finalizer?: string
  /** What a pass does while the object is being deleted; needs `finalizer`. Default: nothing. */
  readonly onDelete?: Step<LevelPass<State, Target>>
  /**
   * What a pass does when nothing of the controller's holds the object any more and `onDelete` has not let go of it: somebody has taken the finalizer off.
   * Of one that is gone the target has kind, name, namespace and uid, and no status is written. Hooks are not called. Needs `finalizer`. Default: nothing.
   */
  readonly onGone?: Step<LevelPass<State, Gone<Target>>>
  /** What its actions may call beside Kubernetes (`pass.call`); made by `activitiesOf`. */
  readonly activities?: OwnActivities
  /** Plurals of kinds that are not Kubernetes' own: `{ 'example.com/v1/Gadget': 'gadgets' }`. */
  readonly plurals?: Readonly<Record<string, string>>
  /** Kinds in no namespace that are not Kubernetes' own, `example.com/v1/Gadget`. */
  readonly withoutNamespace?: readonly string[]
  /** Kinds that actions write beside the target: `['v1/ConfigMap', { kind: 'apps/v1/Deployment', namespaces: ['x'] }]`. Roles have them. */
  readonly writes?: readonly DeclaredWrite[]
  /** As what `kubectl describe` shows who has recorded its events. Default: its field manager. */
  readonly eventSource?: string
  /** How it is run: passes at once, task queue, retries. Default: as all others. */
  readonly settings?: LevelSettings
}

/** An object of which not more may be known than what names it. */
export type Gone<Target> = Partial<Target> & Pick<Target, keyof Target & ('apiVersion' | 'kind' | 'metadata')>

/** What every controller's passes have in common. */
export type AnyLevelPass = LevelPass<Record<string, unknown>, JsonObject>

// Exists for the type checker only: what a pass of the controller sees.
declare const seenBy: unique symbol

/** What `defineLevel` returns. The engine asks for nothing of `State` and `Target`; tests do. */
export interface LevelController<State = unknown, Target = unknown> {
  readonly [seenBy]?: { readonly state: State; readonly target: Target }
  readonly name: string
  readonly target: LevelTarget
  readonly queries: Readonly<Record<string, StateQuery>>
  readonly plan: Step<AnyLevelPass>
  readonly predicate: ((object: Projection) => boolean) | undefined
  readonly hooks: StepHooks<AnyLevelPass> | undefined
  readonly finalizer: string | undefined
  readonly onDelete: Step<AnyLevelPass> | undefined
  readonly onGone: Step<AnyLevelPass> | undefined
  readonly activities: OwnActivities | undefined
  readonly plurals: Readonly<Record<string, string>>
  readonly withoutNamespace: readonly string[]
  readonly writes: readonly WrittenKind[]
  readonly eventSource: string | undefined
  readonly settings: LevelSettings | undefined
}

const NAME = /^[a-z][A-Za-z0-9]{0,62}$/
// Source: Kubernetes' validation of finalizers; without a domain the name would be taken for one of Kubernetes' own.
const FINALIZER_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$/
// What others have called so before is taken, as long as it cannot be one of Kubernetes' own.
const DOTTED_FINALIZER = /^[a-z0-9-]+(?:\.[a-z0-9-]+){2,}$/

/**
 * Defines a controller. It is checked when its module loads.
 *
 * @throws a plain Error that says what was found and expected: a name that cannot name a workflow, a finalizer without domain, `onDelete`
 * without finalizer, a finalizer for what is read only, a kind whose plural is not known, `writes` that are no kinds, settings out of their bounds.
 */
export function defineLevel<State, Target>(definition: LevelDefinition<State, Target>): LevelController<State, Target> {
  const { name, target, queries, finalizer, onDelete, onGone, plurals = {}, withoutNamespace = [] } = definition
  if (!NAME.test(name))
    throw new Error(`controller "${name}": expected a name of letters and digits that begins with a small letter`)
  if (finalizer !== undefined) checkFinalizer(name, finalizer, target)
  for (const [field, step] of Object.entries({ onDelete, onGone }))
    if (step !== undefined && finalizer === undefined)
      throw new Error(
        `controller ${name}: found ${field} without finalizer, expected both: nothing would hold the object`,
      )
  if (definition.settings !== undefined) checkSettings(name, definition.settings)
  const controller: LevelController<State, Target> = {
    name,
    target,
    queries,
    finalizer,
    plurals,
    withoutNamespace,
    hooks: definition.hooks as unknown as StepHooks<AnyLevelPass> | undefined,
    writes: writtenKinds(name, definition.writes ?? []),
    // The loop hands a plan the states and the target that the queries and the kind of the same definition describe.
    plan: definition.plan as unknown as Step<AnyLevelPass>,
    predicate: definition.predicate,
    onDelete: onDelete as unknown as Step<AnyLevelPass> | undefined,
    onGone: onGone as unknown as Step<AnyLevelPass> | undefined,
    activities: definition.activities,
    eventSource: definition.eventSource,
    settings: definition.settings,
  }
  for (const query of Object.values<StateQuery>(queries)) resourceOf(controller, query.kind)
  controller.writes.forEach((write) => checkPlace(controller, write))
  return controller
}

function checkFinalizer(name: string, finalizer: string, { isReadOnly }: LevelTarget): void {
  if (isReadOnly === true)
    throw new Error(`controller ${name}: found finalizer "${finalizer}", expected none: its target is read only`)
  if (!FINALIZER_NAME.test(finalizer) && !DOTTED_FINALIZER.test(finalizer))
    throw new Error(`controller ${name}: finalizer is "${finalizer}", expected domain/name`)
}

function checkPlace(controller: LevelController, { kind, namespaces }: WrittenKind): void {
  if (resourceOf(controller, kind).withoutNamespace !== true || namespaces.length === 0) return
  throw new Error(
    `controller ${controller.name}: \`writes\` has namespaces for ${kind}, expected none: its objects are in no namespace`,
  )
}

/**
 * Where objects of a kind live.
 *
 * @param kindName `group/version/Kind`, or `v1/Kind`.
 * @throws a plain Error when the plural is not known.
 */
export function resourceOf(
  { name, target, plurals, withoutNamespace }: LevelController,
  kindName: string,
): LevelResource {
  const slash = kindName.lastIndexOf('/')
  const [apiVersion, kind] = [kindName.slice(0, slash), kindName.slice(slash + 1)]
  const own = target.apiVersion === apiVersion && target.kind === kind ? target.plural : undefined
  const given = Object.hasOwn(plurals, kindName) ? plurals[kindName] : undefined
  const plural = given ?? own ?? kubernetesPlural(apiVersion, kind)
  if (plural === undefined)
    throw new Error(`controller ${name}: the plural of kind ${kindName} is not known; expected it in \`plurals\``)
  const isGlobal =
    withoutNamespace.includes(kindName) ||
    isWithoutNamespace(apiVersion, kind) ||
    (own !== undefined && target.withoutNamespace === true)
  return { apiVersion, kind, plural, ...(isGlobal && { withoutNamespace: true }) }
}

/** What activities need of a target's kind: its schema is some 30 kB, and goes along with no call. */
export function sentTarget({ apiVersion, kind, plural, withoutNamespace, statusSubresource }: LevelTarget): SentTarget {
  return {
    apiVersion,
    kind,
    plural,
    ...(withoutNamespace !== undefined && { withoutNamespace }),
    ...(statusSubresource !== undefined && { statusSubresource }),
  }
}

/** Whether two kinds are the same but for their version. */
export function isSameKind(left: Pick<LevelResource, 'apiVersion' | 'kind'>, right: typeof left): boolean {
  return isSameGroupKind(groupKindOf(left), groupKindOf(right))
}
