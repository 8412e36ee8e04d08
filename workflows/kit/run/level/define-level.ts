// `defineLevel`: a controller in level mode as one pure value with its kind, queries and plan. Worker and bridge read this value; loop/run-level.ts
// runs it. `declareLevel` makes the part without plans: only the workflow sandbox and drawings need plans, whose steps are many modules.
// Source: docs/adr/0011, docs/adr/0083.

import { type DeclaredWrite, type WrittenKind, writtenKinds } from './declared-writes.ts'
import type { JsonObject, LevelPass } from './level-pass.ts'
import { groupKindOf, isSameGroupKind, isWithoutNamespace, kubernetesPlural } from '../../kind/group-kind.ts'
import { checkSettings, type LevelSettings } from './level-settings.ts'
import type { ExplainStatus } from '../explain-status.ts'
import type { OwnActivities } from './own-activities.ts'
import type { Path, Projection } from '../../kind/projection.ts'
import type { StateQuery } from './query.ts'
import type { Step, StepHooks } from '../../plan/step.ts'

/** The API resource of a kind. */
export interface LevelResource {
  /** `group/version`, or `v1`. */
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  /** The kind is cluster-scoped. */
  readonly withoutNamespace?: boolean
}

/** The kind that a controller reconciles: a value of `defineKind`, or its names. */
export interface LevelTarget extends LevelResource {
  /** False: the kind has no status subresource. Default true. */
  readonly statusSubresource?: boolean
  /** Passes never write the object or its status: another program owns it. The controller's roles have no rights for it. */
  readonly isReadOnly?: true
  /** Paths in the journal that users can see. The journal stores a hash of all other fields, so that their changes are seen too. */
  readonly projection?: readonly Path[]
}

/** The part of a target's kind that is sent with every call. */
export type SentTarget = Pick<LevelTarget, keyof LevelResource | 'statusSubresource'>

/** The input of `defineLevel`. */
export interface LevelDefinition<State, Target> extends LevelTerms<State>, LevelPlans<State, Target> {}

/** The input of `declareLevel`. */
export interface DeclarationInput<State, Target> extends LevelTerms<State> {
  /** Imports the plans when `pawl plan` draws them: `async () => (await import('./plan.ts')).shopPlans`. */
  readonly loadPlans: () => Promise<LevelPlans<State, Target>>
}

/** Everything in a definition except the plans. */
interface LevelTerms<State> {
  /** Name of the controller and its workflow type; its field manager is `pawl-<name>`. Starts with a small letter, then letters and digits. */
  readonly name: string
  /** The kind that it reconciles. */
  readonly target: LevelTarget
  /** The objects that a pass observes, by name of the state; usually generated from a document. */
  readonly queries: Readonly<Record<keyof State & string, StateQuery>>
  /**
   * Starts runs only for events of objects for which it returns true, like predicates of controller-runtime. It gets metadata and the fields of
   * `target.projection`, for the object before and after the event. Pure. Default: all objects.
   */
  readonly predicate?: (object: Projection) => boolean
  /** Keeps an object with a deletionTimestamp until `onDelete` is done; added before the first pass. `domain/name`. */
  readonly finalizer?: string
  /** Activities that its actions may call besides Kubernetes (`pass.call`); created by `activitiesOf`. */
  readonly activities?: OwnActivities
  /** Plurals of kinds outside of Kubernetes: `{ 'example.com/v1/Gadget': 'gadgets' }`. */
  readonly plurals?: Readonly<Record<string, string>>
  /** Cluster-scoped kinds outside of Kubernetes, `example.com/v1/Gadget`. */
  readonly withoutNamespace?: readonly string[]
  /** Kinds that actions write besides the target: `['v1/ConfigMap', { kind: 'apps/v1/Deployment', namespaces: ['x'] }]`. Roles derive from them; actions then write nothing else. */
  readonly writes?: readonly DeclaredWrite[]
  /** The source of its Events in `kubectl describe`. Default: its field manager. */
  readonly eventSource?: string
  /** Concurrency, task queue and retries. Default: shared with all controllers. */
  readonly settings?: LevelSettings
  /** Explains the status for `pawl why`, `get` and `trace`, which use it for controllers of wings. Pure. Default: `status.message`. */
  readonly explain?: ExplainStatus
}

/** The plans of a controller. */
export interface LevelPlans<State, Target> {
  /** The plan of a pass while the object exists. */
  readonly plan: Step<LevelPass<State, Target>>
  /** Functions that run around every step of the plans. */
  readonly hooks?: StepHooks<LevelPass<State, Target>>
  /** Whether an object needs the finalizer; a pass removes it from an object that does not. Pure. Default: all objects. */
  readonly needsFinalizer?: (target: Target) => boolean
  /** The plan of a pass while the object has a deletionTimestamp; requires `finalizer`. Default: nothing. */
  readonly onDelete?: Step<LevelPass<State, Target>>
  /**
   * The plan of a pass after another client has removed the finalizer and `onDelete` was not done. For a deleted object the target has only kind,
   * name,
   * namespace and uid, and no status is written. Hooks are not called. Requires `finalizer`. Default: nothing.
   */
  readonly onGone?: Step<LevelPass<State, Gone<Target>>>
}

/** An object with known apiVersion, kind and metadata; other fields may be missing. */
export type Gone<Target> = Partial<Target> & Pick<Target, keyof Target & ('apiVersion' | 'kind' | 'metadata')>

/** The pass of any controller in level mode. */
export type AnyLevelPass = LevelPass<Record<string, unknown>, JsonObject>

// Only for the type checker: the types of a pass.
declare const seenBy: unique symbol

/** The result of `declareLevel`: everything about a controller except its plans. The engine ignores the type parameters. */
export interface LevelDeclaration<State = unknown, Target = unknown> {
  readonly [seenBy]?: { readonly state: State; readonly target: Target }
  readonly name: string
  readonly target: LevelTarget
  readonly queries: Readonly<Record<string, StateQuery>>
  readonly predicate: ((object: Projection) => boolean) | undefined
  readonly finalizer: string | undefined
  readonly activities: OwnActivities | undefined
  readonly plurals: Readonly<Record<string, string>>
  readonly withoutNamespace: readonly string[]
  readonly writes: readonly WrittenKind[]
  readonly eventSource: string | undefined
  readonly settings: LevelSettings | undefined
  readonly explain?: ExplainStatus | undefined
  readonly loadPlans: () => Promise<LevelPlans<Record<string, unknown>, JsonObject>>
}

/** The result of `defineLevel`. The engine ignores the type parameters; tests use them. */
export interface LevelController<State = unknown, Target = unknown> extends LevelDeclaration<State, Target> {
  readonly plan: Step<AnyLevelPass>
  readonly hooks: StepHooks<AnyLevelPass> | undefined
  readonly needsFinalizer: ((target: JsonObject) => boolean) | undefined
  readonly onDelete: Step<AnyLevelPass> | undefined
  readonly onGone: Step<AnyLevelPass> | undefined
}

const NAME = /^[a-z][A-Za-z0-9]{0,62}$/
// Source: Kubernetes' validation of finalizers; without a domain the name would be taken for one of Kubernetes' own.
const FINALIZER_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$/
// Existing finalizers without a slash are allowed when they cannot be Kubernetes' own.
const DOTTED_FINALIZER = /^[a-z0-9-]+(?:\.[a-z0-9-]+){2,}$/

/**
 * Defines a controller and checks the definition when its module loads.
 *
 * @throws a plain Error with found and expected value: a name that is no workflow type, a finalizer without domain, `onDelete` without finalizer, a
 * finalizer for a read-only target, a kind with unknown plural, invalid `writes` or settings.
 */
export function defineLevel<State, Target>(definition: LevelDefinition<State, Target>): LevelController<State, Target> {
  return addPlans(withoutPlans<State, Target>(definition), definition)
}

/**
 * Declares a controller whose plans are in other modules, for the file `declaration.ts` of a wing's kind. `addPlans` completes it in
 * `controller.ts`. Processes that run no passes then load no plans.
 *
 * @throws as `defineLevel`.
 */
export function declareLevel<State, Target>(
  definition: DeclarationInput<State, Target>,
): LevelDeclaration<State, Target> {
  // Drawings ignore the pass of the steps.
  const loadPlans = definition.loadPlans as unknown as LevelDeclaration['loadPlans']
  return { ...withoutPlans<State, Target>(definition), loadPlans }
}

type WithoutPlans<State, Target> = Omit<LevelDeclaration<State, Target>, 'loadPlans'>

function withoutPlans<State, Target>(definition: LevelTerms<State>): WithoutPlans<State, Target> {
  const { name, target, queries, finalizer, plurals = {}, withoutNamespace = [] } = definition
  if (!NAME.test(name))
    throw new Error(
      `controller "${name}": the name is invalid; expected letters and digits, with a lower-case letter first`,
    )
  if (finalizer !== undefined) checkFinalizer(name, finalizer, target)
  if (definition.settings !== undefined) checkSettings(name, definition.settings)
  const controller: WithoutPlans<State, Target> = {
    name,
    target,
    queries,
    finalizer,
    plurals,
    withoutNamespace,
    writes: writtenKinds(name, definition.writes ?? []),
    predicate: definition.predicate,
    activities: definition.activities,
    eventSource: definition.eventSource,
    settings: definition.settings,
    explain: definition.explain,
  }
  for (const query of Object.values<StateQuery>(queries)) resourceOf(controller, query.kind)
  controller.writes.forEach((write) => checkPlace(controller, write))
  return controller
}

/** Adds the plans to a declaration. @throws a plain Error for `needsFinalizer`, `onDelete` or `onGone` without finalizer. */
export function addPlans<State, Target>(
  declaration: WithoutPlans<State, Target>,
  { plan, hooks, needsFinalizer, onDelete, onGone }: LevelPlans<State, Target>,
): LevelController<State, Target> {
  for (const [field, given] of Object.entries({ needsFinalizer, onDelete, onGone }))
    if (given !== undefined && declaration.finalizer === undefined)
      throw new Error(
        `controller ${declaration.name}: found ${field} without finalizer; add a finalizer, because without it the object disappears before the clean-up`,
      )
  const controller: LevelController<State, Target> = {
    ...declaration,
    // The loop passes states and target as the definition's queries and kind describe them.
    plan: plan as unknown as Step<AnyLevelPass>,
    hooks: hooks as unknown as StepHooks<AnyLevelPass> | undefined,
    needsFinalizer: needsFinalizer as unknown as LevelController['needsFinalizer'],
    onDelete: onDelete as unknown as Step<AnyLevelPass> | undefined,
    onGone: onGone as unknown as Step<AnyLevelPass> | undefined,
    loadPlans: async () => await Promise.resolve(controller as Awaited<ReturnType<LevelDeclaration['loadPlans']>>),
  }
  return controller
}

/** Whether the object has to have the controller's finalizer. */
export function needsFinalizerOf(
  { finalizer, needsFinalizer }: Pick<LevelController, 'finalizer' | 'needsFinalizer'>,
  target: JsonObject,
): boolean {
  return finalizer !== undefined && (needsFinalizer?.(target) ?? true)
}

function checkFinalizer(name: string, finalizer: string, { isReadOnly }: LevelTarget): void {
  if (isReadOnly === true)
    throw new Error(`controller ${name}: found finalizer "${finalizer}"; remove it, because the target is read-only`)
  if (!FINALIZER_NAME.test(finalizer) && !DOTTED_FINALIZER.test(finalizer))
    throw new Error(
      `controller ${name}: finalizer: found "${finalizer}"; expected domain/name, such as example.com/clean-up`,
    )
}

function checkPlace(controller: Parameters<typeof resourceOf>[0], { kind, namespaces }: WrittenKind): void {
  if (resourceOf(controller, kind).withoutNamespace !== true || namespaces.length === 0) return
  throw new Error(
    `controller ${controller.name}: \`writes\` has namespaces for ${kind}; remove them, because the kind is cluster-scoped`,
  )
}

/**
 * Returns the API resource of a kind.
 *
 * @param kindName `group/version/Kind`, or `v1/Kind`.
 * @throws a plain Error for an unknown plural.
 */
export function resourceOf(
  {
    name,
    target,
    plurals,
    withoutNamespace,
  }: Pick<LevelDeclaration, 'name' | 'target' | 'plurals' | 'withoutNamespace'>,
  kindName: string,
): LevelResource {
  const slash = kindName.lastIndexOf('/')
  const [apiVersion, kind] = [kindName.slice(0, slash), kindName.slice(slash + 1)]
  const own = target.apiVersion === apiVersion && target.kind === kind ? target.plural : undefined
  const given = Object.hasOwn(plurals, kindName) ? plurals[kindName] : undefined
  const plural = given ?? own ?? kubernetesPlural(apiVersion, kind)
  if (plural === undefined)
    throw new Error(`controller ${name}: the plural of kind ${kindName} is unknown; add it to \`plurals\``)
  const isGlobal =
    withoutNamespace.includes(kindName) ||
    isWithoutNamespace(apiVersion, kind) ||
    (own !== undefined && target.withoutNamespace === true)
  return { apiVersion, kind, plural, ...(isGlobal && { withoutNamespace: true }) }
}

/** Without the schema, which has some 30 kB. */
export function sentTarget({ apiVersion, kind, plural, withoutNamespace, statusSubresource }: LevelTarget): SentTarget {
  return {
    apiVersion,
    kind,
    plural,
    ...(withoutNamespace !== undefined && { withoutNamespace }),
    ...(statusSubresource !== undefined && { statusSubresource }),
  }
}

/** Whether two kinds differ at most in their version. */
export function isSameKind(left: Pick<LevelResource, 'apiVersion' | 'kind'>, right: typeof left): boolean {
  return isSameGroupKind(groupKindOf(left), groupKindOf(right))
}
