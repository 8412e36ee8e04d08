// Which objects an answer of an activity is about: names, versions and phases, wherever they stand in it. Nothing else of an answer is shown: what a
// history may hold of objects is not for every screen. Pure.

export interface SeenObject {
  /** Undefined where the answer names none: that of the call is meant. */
  readonly kind: string | undefined
  readonly name: string
  readonly version: string | undefined
  readonly phase: string | undefined
}

const MOST_SEEN = 500

/** @param about the object that the call is about, which answers do not name. */
export function seenIn(answer: unknown, about: { readonly kind: string; readonly name: string } | undefined) {
  const found: SeenObject[] = []
  walk(answer, '', (value, key) => {
    const seen = objectOf(value, key, about)
    if (seen !== undefined && found.length < MOST_SEEN) found.push(seen)
    return seen !== undefined && isKubernetes(value)
  })
  return found
}

type Cells = Readonly<Record<string, unknown>>

/** @param visit says whether what is in a value is not looked at. */
function walk(value: unknown, key: string, visit: (value: Cells, key: string) => boolean): void {
  if (Array.isArray(value)) {
    for (const one of value) walk(one, key, visit)
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (visit(value as Cells, key)) return
  for (const [name, one] of Object.entries(value)) walk(one, name, visit)
}

function objectOf(value: Cells, key: string, about: Parameters<typeof seenIn>[1]): SeenObject | undefined {
  if (isKubernetes(value)) {
    const { metadata, kind, status } = value as { metadata: Cells; kind?: unknown; status?: unknown }
    const phase = (status as Cells | undefined)?.['phase']
    return {
      kind: text(kind),
      name: text(metadata['name']) ?? '',
      version: text(metadata['resourceVersion']),
      phase: text(phase),
    }
  }
  const version = text(value['version'])
  if (version === undefined) return undefined
  const isTarget = key === 'target'
  const name = text(value['name']) ?? (isTarget ? about?.name : undefined)
  const kind = isTarget ? about?.kind : wordOf(key)
  return { kind, name: name ?? '', version, phase: text(value['phase']) }
}

function isKubernetes({ metadata }: Cells): boolean {
  return typeof metadata === 'object' && metadata !== null && typeof (metadata as Cells)['resourceVersion'] === 'string'
}

/** Of the field that it stands in, where that says what it is: `deployItems` are of a kind `deployItem`. */
function wordOf(key: string): string | undefined {
  return /^(?:execution|(?:deployI|i)tems|installations?)$/i.test(key) ? key.replace(/s$/, '') : undefined
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
