// Field managers: the engine's manager names, and the fields that managers own by `metadata.managedFields`. Pure.
//
//   F1. A field without fields below it is owned as a whole: a scalar, an empty map, or an atomic map or list.
//   F2. Elements of a list with keys are found by their keys, elements of a set by their value. The managers that added
//       an element own it; managers that only changed its fields do not.
//   F3. The manager of the last write is a hint: the client chooses its name, and removing fields that others own, or
//       deleting the object, leaves no entry. So only an entry of the last seconds counts.
//
// Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/ and the format FieldsV1 of
// ManagedFieldsEntry.

import { type By, controllerInID, readJson, isFields } from '../../workflows/kit/index.ts'
import type { ObjectMeta } from './client.ts'
import { fieldOf } from './merge-patch.ts'

/** Prefix of all controllers' field managers. */
export const FIELD_MANAGER_PREFIX = 'pawl-'

/** The field manager of a controller. */
export function fieldManagerOf({ workflowID, controller }: Pick<By, 'workflowID' | 'controller'>): string {
  return `${FIELD_MANAGER_PREFIX}${controller ?? controllerInID(workflowID)}`
}

/**
 * Whether another manager than the engine's has written a status field. A field without an owner counts as the
 * engine's.
 */
export function isWrittenByOthers({ metadata }: { readonly metadata: object }, field: string): boolean {
  const { managedFields = [] } = metadata as Pick<ObjectMeta, 'managedFields'>
  const owners = managedFields.filter(({ fieldsV1 }) => fieldsV1?.['f:status']?.[`f:${field}`] !== undefined)
  return owners.length > 0 && !owners.some(({ manager = '' }) => manager.startsWith(FIELD_MANAGER_PREFIX))
}

/** The field managers of the last writes to an object: of the status, and of other parts. */
export interface LastManagers {
  readonly status?: string
  readonly other?: string
}

/** Maximum age of an entry when the journal stores its event, and maximum difference of the clocks. */
const MAX_AGE_MS = 10_000
const MAX_AHEAD_MS = 10_000

/** The managers with the newest time (F3); both if two wrote in the same second. */
export function lastManagers(
  { managedFields, deletionTimestamp }: Pick<ObjectMeta, 'managedFields' | 'deletionTimestamp'>,
  now: Date,
): LastManagers {
  const entries = entriesIn(managedFields)
  const newest = Math.max(...entries.map(({ time = '' }) => Date.parse(time) || 0), 0)
  const age = now.getTime() - newest
  if (age > MAX_AGE_MS || age < -MAX_AHEAD_MS) return {}
  // The deletion may be the last write.
  if (deletionTimestamp !== undefined && Date.parse(deletionTimestamp) >= newest) return {}
  const last = entries.filter(({ time = '' }) => Date.parse(time) === newest)
  const [status, other] = [true, false].map((isStatus) =>
    onlyManager(last.filter(({ subresource }) => (subresource === 'status') === isStatus)),
  )
  return { ...(status !== undefined && { status }), ...(other !== undefined && { other }) }
}

/** Runs of Pawl journal their own writes, so another client is the likely writer; undefined for several. */
function onlyManager(entries: readonly Entry[]): string | undefined {
  const managers = [...new Set(entries.map(({ manager = '' }) => manager))].filter((manager) => manager !== '')
  const foreign = managers.filter((manager) => !manager.startsWith(FIELD_MANAGER_PREFIX))
  const [first, ...others] = foreign.length > 0 ? foreign : managers
  return others.length === 0 ? first : undefined
}

/** @param isStatusChange only the status differs from the previous version. */
export function managerOf({ status, other }: LastManagers, isStatusChange: boolean): string | undefined {
  return isStatusChange ? (status ?? other) : (other ?? status)
}

export interface FieldSet {
  /** Whether the field itself is owned, not only fields below it. */
  readonly isOwned: boolean
  readonly fields: ReadonlyMap<string, FieldSet>
  readonly elements: readonly ElementSet[]
}

export interface ElementSet {
  /** Key fields of the element; undefined in a set of scalars. */
  readonly key: Readonly<Record<string, unknown>> | undefined
  /** The scalar of a set. */
  readonly value: unknown
  readonly set: FieldSet
}

type Entry = NonNullable<ObjectMeta['managedFields']>[number]
type Tree = Readonly<Record<string, unknown>>

/** Union of the fields of the selected managers; undefined if empty. */
export function ownedFields(
  { managedFields }: Pick<ObjectMeta, 'managedFields'>,
  isChosen: (entry: Entry) => boolean,
): FieldSet | undefined {
  if (!Array.isArray(managedFields)) return undefined
  const entries = entriesIn(managedFields)
  const trees = entries.filter(isChosen).map(({ fieldsV1 }): unknown => fieldsV1)
  return setOf(trees.filter(isFields))
}

/** Servers may send other values. */
function entriesIn(managedFields: unknown): readonly Entry[] {
  return Array.isArray(managedFields)
    ? (managedFields as readonly unknown[]).filter((one): one is Entry => isFields(one))
    : []
}

/** Whether managers own single elements of the list. */
export function hasElements(set: FieldSet | undefined): boolean {
  return set !== undefined && set.elements.length > 0
}

/** Whether a map or list is owned as a whole. */
export function isWhole(set: FieldSet | undefined): boolean {
  return set !== undefined && set.fields.size === 0 && set.elements.length === 0
}

function setOf(trees: readonly Tree[]): FieldSet | undefined {
  if (trees.length === 0) return undefined
  const below = new Map<string, Tree[]>()
  for (const tree of trees) {
    for (const [name, child] of Object.entries(tree)) {
      if (name === '.' || !isFields(child)) continue
      const known = below.get(name)
      if (known === undefined) below.set(name, [child])
      else known.push(child)
    }
  }
  const sets = [...below].flatMap(([name, children]) => {
    const set = setOf(children)
    return set === undefined ? [] : [{ name, set }]
  })
  return {
    isOwned: trees.some((tree) => fieldOf(tree, '.') !== undefined || Object.keys(tree).length === 0),
    fields: new Map(sets.flatMap(({ name, set }) => (name.startsWith('f:') ? [[name.slice(2), set] as const] : []))),
    elements: sets.flatMap(({ name, set }) => elementOf(name, set) ?? []),
  }
}

function elementOf(name: string, set: FieldSet): ElementSet | undefined {
  if (!/^[kv]:/.test(name)) return undefined
  const value = parsed(name.slice(2))
  if (name.startsWith('v:')) return { key: undefined, value, set }
  return isFields(value) ? { key: value, value: undefined, set } : undefined
}

function parsed(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    // A key in an undocumented form matches no element.
    return undefined
  }
}
