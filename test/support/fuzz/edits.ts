// Generates histories of an Installation: edits of its blueprint, its imports and the objects of its tree by users and
// their tools, in any order and at any time. Source: spec/engine.md 4.3, A2 and A5.

import fc from 'fast-check'

const ITEM_NAMES = ['a', 'b', 'c', 'd'] as const
const NOBODY = 'nobody'

export interface EditedItem {
  readonly type: 'mock' | 'manifest'
  readonly dependsOn: readonly string[]
  readonly value: number
  /** The deployer leaves `held` items in Progressing. A manifest item always succeeds. */
  readonly way: 'well' | 'failing' | 'held'
}

/** The blueprint and its imports after a history. */
export interface EditedSpec {
  readonly items: Readonly<Record<string, EditedItem>>
  /** The item of the sub-installation. Undefined: no sub-installation. */
  readonly part?: Omit<EditedItem, 'dependsOn'> | undefined
  /** Jobs start automatically every second. */
  readonly isAutomatic?: boolean
  readonly imported: number
  /** A mistake that prevents rendering, or that the API server rejects. */
  readonly spoiled: 'template' | 'import' | 'twin' | undefined
}

export type Edit = { readonly triggered: boolean } & (
  | ({ readonly do: 'put'; readonly name: string } & EditedItem)
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'rename'; readonly name: string; readonly to: string }
  | { readonly do: 'depend'; readonly name: string; readonly on: readonly string[] }
  | { readonly do: 'import'; readonly value: number }
  | { readonly do: 'spoil'; readonly how: 'template' | 'import' | 'twin' }
  | ({ readonly do: 'put part' } & Omit<EditedItem, 'dependsOn'>)
  | { readonly do: 'remove part' }
  /** An operation on the sub-installation by hand. */
  | { readonly do: 'touch part'; readonly how: 'delete' | 'reconcile' | 'interrupt' }
  | { readonly do: 'automatic'; readonly isOn: boolean }
  | { readonly do: 'annotate'; readonly plural: 'installations' | 'executions'; readonly operation: string }
  | { readonly do: 'delete'; readonly plural: 'installations' | 'executions' | 'deployitems'; readonly name: string }
  | {
      readonly do: 'write status'
      readonly plural: 'executions' | 'deployitems'
      readonly name: string
      readonly status: object
    }
  | { readonly do: 'wait' }
)

export const FIRST: EditedSpec = {
  items: {
    a: { type: 'mock', dependsOn: [], value: 0, way: 'well' },
    b: { type: 'manifest', dependsOn: ['a'], value: 0, way: 'well' },
  },
  imported: 0,
  spoiled: undefined,
}

/** The specification after the edit. Edits of other objects do not change it. */
export function edited(spec: EditedSpec, edit: Edit): EditedSpec {
  if (edit.do === 'import') return { ...spec, imported: edit.value }
  if (edit.do === 'spoil') return { ...spec, spoiled: spec.spoiled === edit.how ? undefined : edit.how }
  if (edit.do === 'put part') return { ...spec, part: { type: edit.type, value: edit.value, way: edit.way } }
  if (edit.do === 'remove part') return { ...spec, part: undefined }
  if (edit.do === 'automatic') return { ...spec, isAutomatic: edit.isOn }
  return { ...spec, items: editedItems(spec.items, edit) }
}

function editedItems(items: EditedSpec['items'], edit: Edit): EditedSpec['items'] {
  if (edit.do === 'put') {
    const { type, dependsOn, value, way } = edit
    return { ...items, [edit.name]: { type, dependsOn, value, way } }
  }
  const found = 'name' in edit ? items[edit.name] : undefined
  if (found === undefined) return items
  if (edit.do === 'remove') return without(items, edit.name)
  if (edit.do === 'rename') return { ...without(items, edit.name), [edit.to]: found }
  return edit.do === 'depend' ? { ...items, [edit.name]: { ...found, dependsOn: edit.on } } : items
}

/** The specification without mistakes: no item fails or waits, all dependencies exist, and there are no cycles. */
export function healed({ items, part, imported }: EditedSpec): EditedSpec {
  const well = Object.entries(items).map(([name, one]): [string, EditedItem] => {
    const dependsOn = one.dependsOn.filter((other) => Object.hasOwn(items, other) && other < name)
    return [name, { ...one, dependsOn, way: 'well' }]
  })
  return { items: Object.fromEntries(well), part: part && { ...part, way: 'well' }, imported, spoiled: undefined }
}

function without(items: EditedSpec['items'], name: string): EditedSpec['items'] {
  return Object.fromEntries(Object.entries(items).filter(([other]) => other !== name))
}

const name = fc.constantFrom(...ITEM_NAMES)
const others = fc.subarray([...ITEM_NAMES, NOBODY], { maxLength: 2 })
const value = fc.nat(3)
const way = fc.constantFrom(...(['well', 'well', 'well', 'well', 'well', 'well', 'failing', 'held'] as const))
const type = fc.constantFrom(...(['mock', 'manifest'] as const))
const operation = fc.constantFrom('reconcile', 'interrupt', 'nonsense', '')
const phase = fc.constantFrom('Init', 'Progressing', 'Succeeded', 'Failed', 'Deleting', 'DeleteFailed', 'nonsense', '')
const status = fc.oneof(
  fc.record({ phase }),
  fc.record({ jobID: fc.constantFrom('by-hand', '') }),
  fc.record({ phase, jobIDFinished: fc.constantFrom('by-hand', '') }),
)
const trees = ['installations', 'executions'] as const
const children = ['executions', 'deployitems'] as const

/** Edits of one kind, and how often they occur. */
const edits = <Do extends Edit['do'], Fields extends object>(
  weight: number,
  what: Do,
  fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
) => ({ weight, arbitrary: fc.record(fields).map((found) => ({ do: what, ...found })) })

/** An edit, and whether the user also sets the annotation `reconcile`. */
const edit: fc.Arbitrary<Edit> = fc
  .tuple(
    fc.boolean(),
    fc.oneof(
      edits(5, 'put', { name, type, dependsOn: others, value, way }),
      edits(2, 'remove', { name }),
      edits(2, 'rename', { name, to: name }),
      edits(3, 'depend', { name, on: others }),
      edits(2, 'import', { value }),
      edits(1, 'spoil', { how: fc.constantFrom(...(['template', 'import', 'twin'] as const)) }),
      edits(2, 'annotate', { operation, plural: fc.constantFrom(...trees) }),
      edits(2, 'delete', { name, plural: fc.constantFrom(...trees, 'deployitems' as const) }),
      edits(3, 'write status', { plural: fc.constantFrom(...children), name, status }),
      edits(3, 'wait', {}),
      edits(3, 'put part', { type, value, way }),
      edits(1, 'remove part', {}),
      edits(2, 'touch part', { how: fc.constantFrom(...(['delete', 'reconcile', 'interrupt'] as const)) }),
      edits(2, 'automatic', { isOn: fc.boolean() }),
    ),
  )
  .map(([triggered, what]) => ({ triggered, ...what }))

export const history = (longest: number): fc.Arbitrary<readonly Edit[]> =>
  fc.array(edit, { minLength: 1, maxLength: longest, size: 'max' })
