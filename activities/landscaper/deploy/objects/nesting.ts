// How deep a value is nested, found without recursion: what recurses over values of others ends in an overflow of the stack.

/** Whether a JSON value has more than `levels` maps and lists in each other. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  const open: { readonly value: unknown; readonly level: number }[] = [{ value, level: 1 }]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one.value !== 'object' || one.value === null) continue
    if (one.level > levels) return true
    for (const inner of Object.values(one.value) as readonly unknown[])
      open.push({ value: inner, level: one.level + 1 })
  }
  return false
}
