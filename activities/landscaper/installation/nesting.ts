// How deep sub-installations are nested. A blueprint may have itself among its sub-installations, and would have them without end.
//
//   N1. Each says its path from the root, which its parent has written: it outlives runs, and no parent has to be read to tell it.

import { PATH_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import { BlueprintError } from '../render/render-errors.ts'
import type { SubinstallationTemplate } from '../render/subinstallation-templates.ts'
import { parentOf } from './parent.ts'

/** Levels of sub-installations below a root. */
export const DEEPEST = 20
const SEPARATOR = '/'

/** The root's name, then those of templates down to this one. One that does not say it yet is its parent's, and more is not known. */
function pathOf({ metadata }: Pick<Installation, 'metadata'>): readonly string[] {
  const parent = parentOf({ metadata })
  // What a root says of itself is nobody's word.
  if (parent === undefined) return [metadata.name]
  const path = metadata.annotations?.[PATH_ANNOTATION]
  return path === undefined ? [parent.name, metadata.name] : path.split(SEPARATOR)
}

/** As an annotation's value: the path of a sub-installation. */
export function pathBelow(parent: Pick<Installation, 'metadata'>, template: string): string {
  return [...pathOf(parent), template].join(SEPARATOR)
}

/** @throws BlueprintError `ERR_CONFIGURATION_PROBLEM` with the path, when sub-installations of this one would be nested too deep. */
export function checkNesting(
  parent: Pick<Installation, 'metadata'>,
  templates: readonly Pick<SubinstallationTemplate, 'name'>[],
): void {
  const [first] = templates
  const path = pathOf(parent)
  if (first === undefined || path.length <= DEEPEST) return
  throw new BlueprintError(
    'ERR_CONFIGURATION_PROBLEM',
    `subinstallations: found ${path.length} levels, expected at most ${DEEPEST}: ${[...path, first.name].join(' -> ')}`,
  )
}
