// Finds the plans of kinds: what the plan.ts of a kind's folder exports, and those of users' controllers. The folder is the registration; no
// list is kept.

import { access } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

import {
  groupKindOf,
  groupKindText,
  type JobPlan,
  type Kind,
  type LevelController,
  type LevelTarget,
  type Step,
} from '../../workflows/kit/index.ts'
import { readKindFolders } from '../server/kind-folders.ts'
import { UsageError } from '../server/usage-error.ts'

export type NamedKind = Pick<Kind, 'apiVersion' | 'group' | 'kind' | 'singular' | 'plural' | 'shortNames'>

/**
 * A kind and what a pass of its controller does: one tree of steps for each phase of a job, or one for every pass, and in level mode perhaps
 * another one for objects that are being deleted.
 */
export type PlannedKind = { readonly kind: NamedKind } & (
  | { readonly phases: JobPlan<never>; readonly step?: never; readonly onDelete?: never }
  | { readonly step: Step<never>; readonly onDelete?: Step<never> | undefined; readonly phases?: never }
)

/** All kinds that have a plan, ordered by name. */
export async function findPlans(root: string): Promise<readonly PlannedKind[]> {
  const folders = await readKindFolders(root)
  const found = await Promise.all(
    folders.map(async ({ folder, kinds }) => plansOf(kinds, await exportsOf(join(root, 'workflows', folder)))),
  )
  return found.flat().sort((left, right) => (groupKindText(left.kind) < groupKindText(right.kind) ? -1 : 1))
}

/** The plans of controllers of users. */
export function plansOfControllers(controllers: readonly LevelController[]): readonly PlannedKind[] {
  return controllers.map(({ target, plan, onDelete }) => ({ kind: namedKind(target), step: plan, onDelete }))
}

/** A value of `defineKind` has all its names; of another one only those that it must have. */
function namedKind(target: LevelTarget & Partial<NamedKind>): NamedKind {
  const { apiVersion, kind, plural, singular = kind.toLowerCase(), shortNames = [] } = target
  return { ...groupKindOf({ apiVersion, kind }), apiVersion, plural, singular, shortNames }
}

/**
 * The names by which a kind can be asked for, as in kubectl; upper and lower case are the same. With its group a name means no other kind:
 * `widgets.example.com`, and for one of Kubernetes' core, whose group has no name, `services.`.
 */
export function namesOf({ kind, singular, plural, shortNames, group }: NamedKind): readonly string[] {
  const whole = [`${plural}.${group}`, `${kind}.${group}`]
  return [...new Set([kind, singular, plural, ...shortNames, ...whole].map((name) => name.toLowerCase()))]
}

/**
 * The plan of the kind that has this name; the first one when it has several.
 *
 * @throws UsageError that lists the kinds with a plan when none has this name, and their whole names when several have it.
 */
export function planNamed(plans: readonly PlannedKind[], name: string): PlannedKind {
  const found = plans.filter(({ kind }) => namesOf(kind).includes(name.toLowerCase()))
  const whole = [...new Set(found.map(({ kind: { plural, group } }) => `${plural}.${group}`))]
  if (whole.length > 1)
    throw new UsageError(
      `'${name}' is the name of ${whole.length} kinds with a plan, expected one of ${whole.join(', ')}`,
    )
  const [only] = found
  if (only !== undefined) return only
  const known = plans.map(({ kind }) => [kind.kind, ...kind.shortNames].join(' or '))
  throw new UsageError(
    `no kind called '${name}' has a plan, expected one of ${known.join(', ')}; --controllers FILE adds yours`,
  )
}

function plansOf(kinds: readonly Kind[], values: readonly unknown[]): PlannedKind[] {
  return kinds.flatMap((kind): PlannedKind[] => {
    const phases = values.filter(isJobPlan).find((plan) => plan.kind === kind.kind)
    if (phases !== undefined) return [{ kind, phases }]
    const step = kinds.length === 1 ? values.find(isStep) : undefined
    return step === undefined ? [] : [{ kind, step }]
  })
}

async function exportsOf(folder: string): Promise<readonly unknown[]> {
  const path = join(folder, `plan${extname(import.meta.filename)}`)
  const isThere = await access(path).then(
    () => true,
    () => false,
  )
  return isThere ? Object.values((await import(pathToFileURL(path).href)) as Record<string, unknown>) : []
}

function isJobPlan(value: unknown): value is JobPlan<never> {
  return typeof value === 'object' && value !== null && 'phases' in value && 'finalPhases' in value
}

function isStep(value: unknown): value is Step<never> {
  return typeof value === 'object' && value !== null && 'children' in value && 'run' in value
}
