// Generates histories of an Installation: edits of its blueprint, its imports and the objects of its tree by users and
// their tools, in any order and at any time. Source: spec/engine.md 4.3, A2 and A5.

import fc from 'fast-check'

export const ITEM_NAMES = ['a', 'b', 'c', 'd'] as const
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
const way = fc.oneof(
  { weight: 6, arbitrary: fc.constant('well' as const) },
  { weight: 1, arbitrary: fc.constantFrom('failing' as const, 'held' as const) },
)
const type = fc.constantFrom('mock' as const, 'manifest' as const)
const operation = fc.constantFrom('reconcile', 'interrupt', 'nonsense', '')
const phase = fc.constantFrom('Init', 'Progressing', 'Succeeded', 'Failed', 'Deleting', 'DeleteFailed', 'nonsense', '')
const status = fc.oneof(
  fc.record({ phase }),
  fc.record({ jobID: fc.constantFrom('by-hand', '') }),
  fc.record({ phase, jobIDFinished: fc.constantFrom('by-hand', '') }),
)
/** An edit of the sub-installation. */
const partEdit = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('put part' as const), type, value, way }) },
  { weight: 1, arbitrary: fc.constant({ do: 'remove part' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('touch part' as const),
      how: fc.constantFrom('delete' as const, 'reconcile' as const, 'interrupt' as const),
    }),
  },
)
const child = fc.constantFrom('executions' as const, 'deployitems' as const)

/** An edit, and whether the user also sets the annotation `reconcile`. */
const edit: fc.Arbitrary<Edit> = fc
  .tuple(
    fc.boolean(),
    fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({ do: fc.constant('put' as const), name, type, dependsOn: others, value, way }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('rename' as const), name, to: name }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('depend' as const), name, on: others }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('import' as const), value }) },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('spoil' as const),
          how: fc.constantFrom('template' as const, 'import' as const, 'twin' as const),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant('annotate' as const),
          operation,
          plural: fc.constantFrom('installations' as const, 'executions' as const),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant('delete' as const),
          name,
          plural: fc.constantFrom('installations' as const, 'executions' as const, 'deployitems' as const),
        }),
      },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('write status' as const), plural: child, name, status }) },
      { weight: 3, arbitrary: fc.constant({ do: 'wait' as const }) },
      { weight: 5, arbitrary: partEdit },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('automatic' as const), isOn: fc.boolean() }) },
    ),
  )
  .map(([triggered, what]) => ({ triggered, ...what }))

export const history = (longest: number): fc.Arbitrary<readonly Edit[]> =>
  fc.array(edit, { minLength: 1, maxLength: longest, size: 'max' })
