// What applying an object makes of the one that is there, by the rules of `act.apply`: what is not mentioned stays, null removes, lists are
// replaced as a whole.

type Fields = Readonly<Record<string, unknown>>

/** Whether all that is wanted is there. */
export function isThere(found: unknown, wanted: unknown): boolean {
  if (wanted === null || wanted === undefined) return found === undefined || found === null
  if (Array.isArray(wanted))
    return Array.isArray(found) && found.length === wanted.length && wanted.every((one, at) => isThere(found[at], one))
  if (isFields(wanted))
    return isFields(found) && Object.entries(wanted).every(([key, value]) => isThere(ownField(found, key), value))
  return found === wanted
}

/** The fields with what is wanted of them. */
export function mergedFields(found: Fields, wanted: Fields): Fields {
  const kept = Object.entries(found).filter(([key]) => wanted[key] === undefined)
  const written = Object.entries(wanted).flatMap(([key, value]) => {
    if (value === undefined || value === null) return []
    const before = ownField(found, key)
    return [[key, isFields(value) ? mergedFields(isFields(before) ? before : {}, value) : withoutNulls(value)] as const]
  })
  return Object.fromEntries([...kept, ...written])
}

/** A new element of a list has no field where null is wanted. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  return isFields(value) ? mergedFields({}, value) : value
}

function ownField(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
