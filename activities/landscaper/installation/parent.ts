import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { ownerOfKind } from '../../../workflows/kit/index.ts'
import { PATH_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { BlueprintError } from '../render/render-errors.ts'
import type { SubinstallationTemplate } from '../render/subinstallation-templates.ts'

export interface Parent {
  readonly uid: string
  readonly name: string
}

/** The parent of a sub-installation, in its own namespace (spec/landscaper.md 2.1); undefined for a root. */
export function parentOf(installation: Pick<Installation, 'metadata'>): Parent | undefined {
  return ownerOfKind(installation, installationKind)
}

// Limits the depth of sub-installations: a blueprint may include itself without end.
//
//   N1. Each sub-installation has its path from the root in an annotation, written by its parent. So the depth is known without reading the parents.

/** Levels of sub-installations below a root. */
export const MAX_NESTING = 20
const SEPARATOR = '/'

/** The root's name, then the names of templates down to this one. A sub-installation without the annotation has an unknown path above its parent. */
function pathOf({ metadata }: Pick<Installation, 'metadata'>): readonly string[] {
  const parent = parentOf({ metadata })
  // The annotation of a root may be written by anyone.
  if (parent === undefined) return [metadata.name]
  const path = metadata.annotations?.[PATH_ANNOTATION]
  return path === undefined ? [parent.name, metadata.name] : path.split(SEPARATOR)
}

/** The path of a sub-installation, as the annotation's value. */
export function pathBelow(parent: Pick<Installation, 'metadata'>, template: string): string {
  return [...pathOf(parent), template].join(SEPARATOR)
}

/** @throws BlueprintError `ERR_CONFIGURATION_PROBLEM` with the path, when the templates would exceed the maximum depth. */
export function checkNesting(
  parent: Pick<Installation, 'metadata'>,
  templates: readonly Pick<SubinstallationTemplate, 'name'>[],
): void {
  const [first] = templates
  const path = pathOf(parent)
  if (first === undefined || path.length <= MAX_NESTING) return
  throw new BlueprintError(
    'ERR_CONFIGURATION_PROBLEM',
    `subinstallations: found ${path.length} levels, ${[...path, first.name].join(' -> ')}; expected at most ${MAX_NESTING}`,
  )
}
