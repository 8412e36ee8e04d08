// The shapes of a target import: one Target, a list, or a map of them, be it of names, of references or of objects.

export type TargetShape<One> =
  { readonly target: One } | { readonly list: readonly One[] } | { readonly map: Readonly<Record<string, One>> }

/** All of them, in order. */
export function targetsIn<One>(shape: TargetShape<One>): readonly One[] {
  if ('target' in shape) return [shape.target]
  return 'list' in shape ? shape.list : Object.values(shape.map)
}

/** The same shape of what each of them is converted to. */
export function mapTargets<From, To>(shape: TargetShape<From>, convert: (one: From) => To): TargetShape<To> {
  if ('target' in shape) return { target: convert(shape.target) }
  if ('list' in shape) return { list: shape.list.map((one) => convert(one)) }
  // fromEntries defines own properties, also for a key such as __proto__.
  return { map: Object.fromEntries(Object.entries(shape.map).map(([key, one]) => [key, convert(one)])) }
}

/** What the shape holds without saying which shape it is: the one itself, the list, or the map. */
export function contentOf<One>(shape: TargetShape<One>): One | readonly One[] | Readonly<Record<string, One>> {
  if ('target' in shape) return shape.target
  return 'list' in shape ? shape.list : shape.map
}
