// Finds the plans of the controllers in the registry, by kind or by name.

import {
  groupKindOf,
  groupKindText,
  isSameGroupKind,
  type JobModeController,
  type JobPlan,
  type Kind,
  nearest,
  type LevelTarget,
  type Step,
} from '../../workflows/kit/index.ts'
import { type Registry, wingOf } from '../server/registry.ts'
import { UsageError } from '../server/usage-error.ts'

export type NamedKind = Pick<Kind, 'apiVersion' | 'group' | 'kind' | 'singular' | 'plural' | 'shortNames'>

/**
 * A kind and the plan of its controller: one tree of steps for each phase of a job, or one for every pass. In level mode there may be another tree for objects that
 * are being deleted.
 */
export type PlannedKind = { readonly controller: string; readonly kind: NamedKind } & (
  | { readonly phases: JobPlan<never>; readonly step?: never; readonly onDelete?: never; readonly onGone?: never }
  | {
      readonly step: Step<never>
      readonly onDelete?: Step<never> | undefined
      readonly onGone?: Step<never> | undefined
      readonly phases?: never
    }
)

/** The plans of all controllers. Controllers of users come first, because `--controllers` selects them. */
export async function findPlans(registry: Controllers): Promise<readonly PlannedKind[]> {
  return await Promise.all(
    inOrder(registry).map(async ({ controller, kind, ...found }): Promise<PlannedKind> => {
      if (found.loadPlans === undefined) return { controller, kind, ...drawn(found.plan) }
      const { plan, onDelete, onGone } = await found.loadPlans()
      return { controller, kind, step: plan, onDelete, onGone }
    }),
  )
}

/** The kinds of all controllers, in the same order. */
export function plannedKinds(registry: Controllers): readonly NamedKind[] {
  return inOrder(registry).map(({ kind }) => kind)
}

type Controllers = Pick<Registry, 'levels' | 'controllers'>

function inOrder({ levels, controllers }: Controllers) {
  const ofLevels = levels.map(({ name, target, loadPlans }) => ({
    controller: name,
    kind: namedKind(target),
    loadPlans,
  }))
  const [ours, theirs] = [true, false].map((isOurs) =>
    ofLevels.filter(({ controller }) => (wingOf(controller) !== undefined) === isOurs),
  )
  const others = [...controllers.values()].flatMap((controller) =>
    controller.mode === 'level'
      ? []
      : {
          controller: controller.name,
          kind: namedKind(controller.target),
          plan: controller.plan,
          loadPlans: undefined,
        },
  )
  const own = [...(ours ?? []), ...others]
  return [
    ...(theirs ?? []),
    ...own.sort((left, right) => (groupKindText(left.kind) < groupKindText(right.kind) ? -1 : 1)),
  ]
}

function drawn(plan: JobModeController['plan']): { phases: JobPlan<never> } | { step: Step<never> } {
  return 'phases' in plan ? { phases: plan } : { step: plan }
}

/** A value of `defineKind` has all names. For other kinds this function derives them. */
function namedKind(target: LevelTarget & Partial<NamedKind>): NamedKind {
  const { apiVersion, kind, plural, singular = kind.toLowerCase(), shortNames = [] } = target
  return { ...groupKindOf({ apiVersion, kind }), apiVersion, plural, singular, shortNames }
}

/**
 * The lower-case names that a user may write for a kind, like in kubectl. A name with the group is unique: `widgets.example.com`, or `services.` for the core
 * group.
 */
export function namesOf({ kind, singular, plural, shortNames, group }: NamedKind): readonly string[] {
  const whole = [`${plural}.${group}`, `${kind}.${group}`]
  return [...new Set([kind, singular, plural, ...shortNames, ...whole].map((name) => name.toLowerCase()))]
}

/** Whether the kind has several controllers. */
export function isShared({ kind }: PlannedKind, plans: readonly PlannedKind[]): boolean {
  return plans.filter((other) => isSameGroupKind(other.kind, kind)).length > 1
}

/**
 * The plan of the controller or the kind with this name.
 *
 * @throws UsageError with similar or all known kinds when the name is unknown, with full names when it is ambiguous, and with the controllers when the kind has several.
 */
export function planNamed(plans: readonly PlannedKind[], name: string): PlannedKind {
  const named = plans.find(({ controller }) => controller === name)
  if (named !== undefined) return named
  const found = plans.filter(({ kind }) => namesOf(kind).includes(name.toLowerCase()))
  const whole = [...new Set(found.map(({ kind: { plural, group } }) => `${plural}.${group}`))]
  if (whole.length > 1)
    throw new UsageError(
      `kind '${name}': found ${whole.length} kinds of this name with a plan; expected one of ${whole.join(', ')}`,
    )
  const [only, ...others] = found
  if (only !== undefined && others.length > 0)
    throw new UsageError(
      `kind ${only.kind.kind}: found ${found.length} controllers; expected one of ${found.map(({ controller }) => controller).join(', ')}`,
    )
  if (only !== undefined) return only
  const similar = similarPlans(plans, name).map((plan) => shownName(plan, plans))
  if (similar.length > 0) throw new UsageError(`kind '${name}': found no plan; did you mean ${similar.join(' or ')}?`)
  const known = plans.map((plan) =>
    isShared(plan, plans) ? plan.controller : [plan.kind.kind, ...plan.kind.shortNames].join(' or '),
  )
  throw new UsageError(
    `kind '${name}': found no plan; expected one of ${known.join(', ')}; add your own controllers with --controllers FILE`,
  )
}

/** A shorter text is part of too many names. */
const SHORTEST_PART = 3

/** The plans whose kinds have a similar name, or a name that contains the text. */
function similarPlans(plans: readonly PlannedKind[], text: string): readonly PlannedKind[] {
  const near = nearest(
    text,
    plans.flatMap(({ kind }) => namesOf(kind)),
  )
  const part = text.toLowerCase()
  return plans.filter(({ kind }) => {
    const names = namesOf(kind)
    return near === undefined
      ? part.length >= SHORTEST_PART && names.some((name) => name.includes(part))
      : names.includes(near)
  })
}

function shownName(plan: PlannedKind, plans: readonly PlannedKind[]): string {
  return isShared(plan, plans) ? plan.controller : plan.kind.kind
}
