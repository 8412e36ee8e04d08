// Measures nesting without recursion, because recursion over values of users may overflow the stack.

/** Whether a JSON value has more than `levels` nested maps and lists. */
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
