// The kinds that the bridge follows for Pawl's own controllers and for those in level mode, each once.

import {
  groupKindOf,
  groupKindText,
  isSameFields,
  type LevelController,
  levelKinds,
  type Path,
  type WatchedKind,
} from '../../workflows/kit/index.ts'

/**
 * A kind that several controllers name is followed once, with the paths of all of them and the objects that any of them wants. Pawl's own kinds stay as they are: what its writes
 * tell the journal of them has to be what the watch tells.
 *
 * @throws when two kinds differ in version only: of each object the journal knows one state.
 */
export function joinKinds(own: readonly WatchedKind[], levels: readonly LevelController[]): readonly WatchedKind[] {
  const kinds = new Map(own.map((kind) => [nameOf(kind), kind]))
  for (const level of levels) {
    for (const kind of levelKinds(level)) {
      const name = nameOf(kind)
      const known = kinds.get(name)
      if (known !== undefined && known.apiVersion !== kind.apiVersion) throw new Error(clash(level, kind, known))
      if (known === undefined) kinds.set(name, kind)
      else if (!own.includes(known)) kinds.set(name, joined(known, kind))
    }
  }
  return [...kinds.values()]
}

const nameOf = (kind: WatchedKind) => groupKindText(groupKindOf(kind))

function clash({ name }: LevelController, found: WatchedKind, known: WatchedKind): string {
  const others = `kind ${nameOf(found)} is followed in ${known.apiVersion} for another controller`
  return `controller ${name} names kind ${found.apiVersion}/${found.kind}, but ${others}; expected one version of each kind`
}

/** All objects are followed where the controllers do not mean the same of them. */
function joined({ fields, ...known }: WatchedKind, kind: WatchedKind): WatchedKind {
  const same = fields !== undefined && isSameFields(fields, kind.fields) ? { fields } : {}
  const traits = [known.indexKeys, kind.indexKeys].flatMap((one) => one ?? [])
  const asked = traits.length === 0 ? {} : { traits: { fields: distinct(traits.flatMap((one) => one.fields)) } }
  return { ...known, ...same, ...asked, projection: union(known.projection, kind.projection) }
}

function distinct(fields: readonly string[]): readonly string[] {
  return [...new Set(fields)].sort()
}

function union(left: readonly Path[], right: readonly Path[]): readonly Path[] {
  const texts = new Set(left.map((path) => path.join(' ')))
  return [...left, ...right.filter((path) => !texts.has(path.join(' ')))]
}
